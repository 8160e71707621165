#ifndef DAEMON_SERVER_TURN_H
#define DAEMON_SERVER_TURN_H
/*
 * A turn of the loop: from one wait to the next. Whoever writes, saves or asks meanwhile waits for
 * its end, so it is to be over within 10 ms. Who has many things to do does one, goes on while
 * turn_more() says so, and does the rest in the next turns:
 *
 *     do {
 *         one();
 *     } while (more && turn_more(loop));
 *
 * All parts of the daemon share what one turn may do; each does one thing in any case, so that none
 * waits for ever. Loop thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is done in one turn before the rest is left to the next: so many things, or so much of the
 * processor's time. */
#define TURN_THINGS 256
#define TURN_US 4000

struct uv_loop_s;
struct turn;

struct turn_figures {
    int64_t longest_us; /* by the processor's time: who else is on the machine is not ours to say */
    size_t most_things; /* that were done in one turn */
    uint64_t cut;       /* turns that left something to the next */
};

/* One for a loop; it is found through the loop's data. */
struct turn *turn_new(struct uv_loop_s *loop);
/* Ends with the loop's next turn. NULL is fine. */
void turn_free(struct turn *turn);

/* A thing was done: whether there is room for another one in this turn. Always, where the loop has
 * no turn_new() to count. */
bool turn_more(struct uv_loop_s *loop);
/* The same without having done anything. */
bool turn_has_room(struct uv_loop_s *loop);
/* So many things were done, by somebody who has no more of them. */
void turn_did(struct uv_loop_s *loop, size_t things);
void turn_figures(const struct turn *turn, struct turn_figures *figures);

#endif
