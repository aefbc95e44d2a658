/*
 * base/commit.h — which commit of the sources a program was built from: it tells two builds of one
 * version apart.
 */
#ifndef SW_BASE_COMMIT_H
#define SW_BASE_COMMIT_H

/* Its short name, with "-dirty" behind it where files were changed; "unknown" where neither git nor
 * an archive's cmake/commit.txt says it. main() sets it first of all (cmake/commit.cmake), so that
 * a new commit is compiled into the programs alone and not into each test. */
extern const char *sw_commit;
/* In the programs alone. */
extern const char sw_commit_of_build[];

#endif
