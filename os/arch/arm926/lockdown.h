/* Lockdown of the kernel's switch path: see lockdown.c. */
#ifndef LOCKDOWN_H
#define LOCKDOWN_H

int lockdown_set(int on);       /* the old value; -1 only asks */
int lockdown_is_on(void);       /* then no cache is to be emptied as a whole */
void lockdown_renew(void);      /* it was */

#endif
