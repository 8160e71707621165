#ifndef DAEMON_HEAP_H
#define DAEMON_HEAP_H
/*
 * The heap of a program that is about to compile. A page that is new costs an exception when it is
 * first written to, more than most uses of it; asked for together, pages cost a twentieth of that.
 */

/* Has the system give the heap's first pages at once, and keeps them there when they are freed. To
 * be called once, before other threads start. No matter where the system or its C library cannot.
 */
void heap_prepare(void);

#endif
