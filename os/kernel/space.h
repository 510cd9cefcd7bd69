/*
 * Address spaces: where a process's memory is. What kernel/ knows of it; how it
 * is done (slots of FCSE with domains, own tables with flushes) is known in
 * arch/ only.
 *
 * Addresses are the process's own, 0 up to its size. All pages are zeroed when
 * they are mapped.
 */
#ifndef SPACE_H
#define SPACE_H

#include "types.h"

struct space;

void space_init(void);

/* An empty one: in a slot if FCSE is on and one is free, else with a table of
   its own. 0 if there is no memory. */
struct space *space_new(void);

/* Frees it with all its pages. It must not be the active one. */
void space_free(struct space *space);

/* Maps pages for [from, to). 0, or -1 with nothing changed. May move the space
   out of its slot if it outgrows it. */
int space_grow(struct space *space, uint from, uint to);

/* Frees the pages that lie in [to, from) whole. */
void space_shrink(struct space *space, uint from, uint to);

/* Fills an empty space with a copy of the first `size` bytes of another one,
   which is the active one; the page `guard` stays without access. 0, or -1:
   free it. */
int space_copy(struct space *to, struct space *from, uint size, uint guard);

/* Takes the page at `at` away: no access for anyone. */
void space_guard(struct space *space, uint at);

/* Copies bytes into mapped pages of a space that never was active: what exec
   loads. 0, or -1 if a page is not there. */
int space_write(struct space *space, uint at, const void *from, uint bytes);

/* Makes what was written fit to be executed: to be called before the first
   return to it. */
void space_code_ready(struct space *space);

/* Makes it the one that user addresses mean. 0: none. Interrupts are off. */
void space_activate(struct space *space);

/* Whether that takes but a moment, or is to be done at a stretch (ahead=0);
   otherwise space_prepare() does most of it beforehand, with interrupts on. */
int space_is_near(const struct space *space);
void space_prepare(struct space *space);

/* For tune(). */
int space_set_fcse(int on);
int space_set_slots(int slots);
int space_set_lockdown(int on);

struct counters;
void space_count(struct counters *to);

#endif
