/* The tests that main.c runs, each in a process of its own with its seed set.
   */
#ifndef TESTS_H
#define TESTS_H

void test_model(void *unused);
void test_cut(void *unused);
void test_tasks(void *unused);
void test_reuse(void *unused);
void test_limits(void *unused);
void test_check(void *unused);
void test_faults(void *unused);
void test_lies(void *unused);

/* Starts model and kernel with an empty file system. */
void start(void);
const uchar *empty_image(size_t *bytes);

/* The empty image, on a disk that the processes of a test share. */
void share_disk(void);

#endif
