/*
 * Barriers by the flags of the members' slots, without data.
 *
 * In one turn all wait for all.  Where the barrier before was followed by
 * something that one member gives (a broadcast, a scatter, a reduction or a
 * gather of two), there are two: all tell that member, the leader, and it tells
 * all.  What it gives comes right behind that: two flags one after the other,
 * as many as a barrier in one turn and what follows it take, but nobody waits
 * in the second call for what is on its way.  Where members share cores it is
 * the leader that runs when a barrier ends, and what the others want next is
 * mostly there when they get a core; whoever came last would run on, only to
 * wait for the leader's turn.
 */
#include "config.h"

#include "collectives/shared/way.h"

static bool barrier_fits(const struct am_coll_wish *wish)
{
    return true;
}

static bool is_led(const struct am_coll_req *req)
{
    return req->call.root < req->group->size;
}

static uint32_t barrier_open(struct am_coll_req *req)
{
    const struct am_coll_group *group = req->group;

    req->call.root = group->leader;
    if (!is_led(req)) {
        return 1;
    }
    req->print = am_shared_led_print(req->print, group->leader);
    return 2;
}

static size_t barrier_gives(const struct am_coll_req *req)
{
    return 0;
}

static void barrier_write(const struct am_coll_req *req, void *to)
{
}

static am_shared_whose_t barrier_whose(const struct am_coll_req *req)
{
    if (!is_led(req)) {
        return AM_SHARED_ALL;
    }
    if (am_shared_is_root(req)) {
        return req->shared.stage == 0 ? AM_SHARED_ALL : AM_SHARED_NOBODYS;
    }
    return req->shared.stage == 0 ? AM_SHARED_NOBODYS : AM_SHARED_ROOTS;
}

static bool barrier_take(struct am_coll_req *req)
{
    return true;
}

static void barrier_close(struct am_coll_req *req, bool at_close)
{
}

/* There is no data: nothing to give, to write, to take or to give back. */
const struct am_shared_way am_shared_by_flags = {.fits = barrier_fits,
                                                 .open = barrier_open,
                                                 .gives = barrier_gives,
                                                 .write = barrier_write,
                                                 .whose = barrier_whose,
                                                 .take = barrier_take,
                                                 .close = barrier_close};
