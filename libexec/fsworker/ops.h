/* SPDX-License-Identifier: MIT */
/* The requests. Each carries one out and fills in its reply; the caller sends that. */
#ifndef FSWORKER_OPS_H
#define FSWORKER_OPS_H

#include "task.h"

void fsworker_read(struct fsworker_task *task);
void fsworker_stat(struct fsworker_task *task);
void fsworker_list(struct fsworker_task *task);
void fsworker_edit(struct fsworker_task *task);
void fsworker_mkdir(struct fsworker_task *task);
void fsworker_remove(struct fsworker_task *task);
void fsworker_rename(struct fsworker_task *task);
void fsworker_getenv(struct fsworker_task *task);
void fsworker_search_names(struct fsworker_task *task);
void fsworker_search_lines(struct fsworker_task *task);

#endif
