/* SPDX-License-Identifier: MIT */
#include "backend.h"

bool stage2_backend_is_landlock;
