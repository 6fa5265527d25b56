/* SPDX-License-Identifier: MIT */
/*
 * The hosts that the trust modes safe and auto reach: forges, and the registries that the package
 * managers of common languages use without a setting. doc/developer-hosts.md lists them for people.
 * An entry needs a reason and the fewest ports. At a host where every account can store data under
 * a path of its own a command could leave what it has read, so an object store at large is no
 * entry.
 */
#include "policy/developer_hosts.h"

#include "base/macros.h"

/* Each is spelt as a policy keeps it. */
#define HTTPS(host) host ":443"
#define HTTP(host)  host ":443", host ":80"
#define FORGE(host) host ":443", host ":80", host ":22"

/* clang-format off */
const char *const koda_developer_hosts[] = {
	/* Forges */
	FORGE("github.com"),                               /* repositories, release pages, archives */
	HTTPS("ssh.github.com"),                           /* git over ssh where port 22 is closed */
	HTTP("api.github.com"),                            /* the API: gh, releases by name */
	HTTP("codeload.github.com"),                       /* archives of branches and tags; dependencies of npm, Cargo and Composer by commit */
	HTTP("*.githubusercontent.com"),                   /* raw files, release files, objects of Git LFS */
	HTTPS("github-cloud.s3.amazonaws.com"),            /* older objects of Git LFS */
	HTTPS("ghcr.io"),                                  /* container images and Homebrew bottles */
	FORGE("gitlab.com"),                               /* repositories, archives, package registries */
	HTTPS("altssh.gitlab.com"),                        /* git over ssh where port 22 is closed */
	HTTPS("registry.gitlab.com"),                      /* container images */
	FORGE("bitbucket.org"),                            /* repositories, archives */
	HTTPS("altssh.bitbucket.org"),                     /* git over ssh where port 22 is closed */
	HTTPS("api.bitbucket.org"),                        /* the API */
	HTTPS("bbuseruploads.s3.amazonaws.com"),           /* files of the Downloads pages */
	HTTPS("api.media.atlassian.com"),                  /* objects of Git LFS */
	"codeberg.org:443", "codeberg.org:22",             /* repositories, archives, packages */
	/* JavaScript */
	HTTP("registry.npmjs.org"),                        /* npm, pnpm and Yarn: metadata and packages */
	HTTP("*.npmjs.org"),                               /* other services of the npm registry */
	HTTPS("registry.yarnpkg.com"),                     /* Yarn 1 and lock files that name it */
	HTTPS("repo.yarnpkg.com"),                         /* releases of Yarn, fetched by Corepack */
	HTTPS("nodejs.org"),                               /* releases, and headers for node-gyp */
	HTTPS("jsr.io"),                                   /* modules of Deno */
	HTTPS("npm.jsr.io"),                               /* these modules for npm */
	HTTPS("deno.land"),                                /* modules of Deno by URL */
	HTTPS("cdn.playwright.dev"),                       /* browsers of Playwright */
	HTTPS("playwright.download.prss.microsoft.com"),   /* their second host */
	/* Python */
	HTTP("pypi.org"),                                  /* pip, uv, Poetry: the index */
	HTTP("*.pypi.org"),                                /* other services of the index */
	HTTP("files.pythonhosted.org"),                    /* wheels and source archives */
	HTTPS("bootstrap.pypa.io"),                        /* get-pip.py */
	HTTPS("conda.anaconda.org"),                       /* channels of conda, mamba and pixi */
	HTTPS("repo.anaconda.com"),                        /* the default channels */
	/* Rust */
	HTTP("crates.io"),                                 /* the API of the registry */
	HTTP("static.crates.io"),                          /* crates */
	HTTP("index.crates.io"),                           /* the sparse index */
	HTTPS("static.rust-lang.org"),                     /* toolchains, fetched by rustup */
	/* Go */
	HTTPS("proxy.golang.org"),                         /* the module proxy; toolchains */
	HTTPS("sum.golang.org"),                           /* the checksum database */
	HTTPS("go.dev"),                                   /* the list of releases */
	HTTPS("dl.google.com"),                            /* releases of Go; Android's Maven repository */
	/* Java and Kotlin */
	HTTPS("repo.maven.apache.org"),                    /* Maven Central, as Maven names it */
	HTTPS("repo1.maven.org"),                          /* Maven Central, as Gradle and sbt name it */
	HTTPS("plugins.gradle.org"),                       /* plug-ins of Gradle */
	HTTPS("plugins-artifacts.gradle.org"),             /* their files */
	HTTPS("services.gradle.org"),                      /* the Gradle wrapper: releases */
	HTTPS("downloads.gradle.org"),                     /* their files */
	HTTPS("maven.google.com"),                         /* Android libraries */
	/* Ruby, PHP, .NET, Elixir, Perl, Haskell, Dart */
	HTTPS("rubygems.org"),                             /* gem and Bundler: gems and their index */
	HTTPS("index.rubygems.org"),                       /* the compact index */
	HTTPS("repo.packagist.org"),                       /* Composer: metadata */
	HTTPS("packagist.org"),                            /* search of Composer */
	HTTPS("api.nuget.org"),                            /* NuGet: index and packages */
	HTTPS("hex.pm"),                                   /* the API of Hex */
	HTTPS("repo.hex.pm"),                              /* packages of Hex */
	HTTPS("builds.hex.pm"),                            /* Hex and rebar3 themselves */
	HTTPS("www.cpan.org"),                             /* modules for cpan and cpanm */
	HTTPS("cpan.metacpan.org"),                        /* their mirror */
	HTTPS("fastapi.metacpan.org"),                     /* look-ups of cpanm */
	HTTPS("hackage.haskell.org"),                      /* packages of cabal and stack */
	HTTPS("pub.dev"),                                  /* packages of Dart and Flutter */
	/* Container images */
	HTTP("registry-1.docker.io"),                      /* Docker Hub: manifests */
	HTTP("auth.docker.io"),                            /* its tokens */
	HTTP("*.docker.io"),                               /* its other services */
	HTTPS("production.cloudflare.docker.com"),         /* its layers */
};
/* clang-format on */

const size_t koda_developer_host_count = KODA_ARRAY_LEN(koda_developer_hosts);
