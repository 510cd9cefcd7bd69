/* Lockdown of the kernel's switch path: see lockdown.c. */
#ifndef LOCKDOWN_H
#define LOCKDOWN_H

int lockdown_set(int on);       /* the old value; -1 only asks */
extern int lockdown_on;         /* then no cache is to be emptied as a whole */
void lockdown_renew(void);      /* it was */

#endif
