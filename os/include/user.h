/* What a program may call: system calls (from syscalls.list) and the library. */
#ifndef USER_H
#define USER_H

#include "types.h"

struct stat;
struct counters;

#include "user_calls.h"

/* ulib.c */
int stat(const char *path, struct stat *to);
char *strcpy(char *to, const char *from);
void *memmove(void *to, const void *from, int bytes);
char *strchr(const char *text, char c);
int strcmp(const char *a, const char *b);
char *gets(char *to, int most);
uint strlen(const char *text);
void *memset(void *to, int value, uint bytes);
int atoi(const char *text);

/* printf.c: %d %u %x %p %s %c %% */
void printf(int fd, const char *format, ...);

/* umalloc.c */
void *malloc(uint bytes);
void free(void *place);

#endif
