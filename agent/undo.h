/*
 * The side of undo.c that main() uses.
 */
#ifndef UNDO_H
#define UNDO_H

#include "output.h"

/* Makes SIGINT, SIGTERM and SIGHUP end the plan in order. */
void watch_signals(void);
/* Puts everything back, and tells it as elements of a list. Returns how many failed. */
int undo_all(struct text *told);

#endif
