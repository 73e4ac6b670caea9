/*
 * The real environment: the machine's clock, scheduler and random source.
 * The clock is the CPU's constant-rate counter, scaled by a factor that is
 * measured once against CLOCK_MONOTONIC; where the counter's rate is not
 * constant it is CLOCK_MONOTONIC itself.  The one file that calls them.
 */
#include <config.h>

#include "base/env.h"
#include "base/list.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#define PS_PER_NS       UINT64_C(1000)
#define NS_PER_S        UINT64_C(1000000000)
#define PS_PER_US       UINT64_C(1000000)
#define CALIBRATE_NS    UINT64_C(1000000)
#define CALIBRATE_TRIES 8
/* Clock value at start: CLOCK_MONOTONIC modulo 100 days, so that it is
 * comparable between processes and 64 bits of picoseconds (213 days) last for
 * 113 days of running, however long the machine has been up. */
#define START_MODULO_NS (UINT64_C(100) * 86400 * NS_PER_S)
/* A sleep shorter than this is no gain over a yield (timer slack 50 us), and
 * no single one is longer than RELAX_MAX_PS, whatever the deadline. */
#define RELAX_SLEEP_PS (UINT64_C(200) * PS_PER_US)
#define RELAX_SLACK_PS (UINT64_C(100) * PS_PER_US)
#define RELAX_MAX_PS   (UINT64_C(1000) * PS_PER_US)
#define WEYL           UINT64_C(0x9e3779b97f4a7c15)

struct env_real {
    struct am_env env;
    uint64_t start_ps; /* value of now at `start_ticks` */
    uint64_t start_ticks;
    uint64_t ps_per_tick_q32; /* 32.32 fixed point */
    uint64_t start_ns;        /* CLOCK_MONOTONIC that start_ps stands for */
    _Atomic uint64_t random;  /* Weyl sequence, mixed on the way out */
};

static uint64_t monotonic_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

/* The counter, and whether its rate is constant and equal on all cores. */
#if defined(__x86_64__)
static inline uint64_t ticks_read(void)
{
    return __rdtsc();
}

/* Linux takes "tsc" off this list when it finds the counters out of step. */
static bool kernel_trusts_tsc(void)
{
    static const char path[] = "/sys/devices/system/clocksource/clocksource0/"
                               "available_clocksource";
    char text[256] = "";
    FILE *file = fopen(path, "re");
    bool trusted;

    if (file == NULL) {
        return true; /* no such file: the CPU's word is all there is */
    }
    trusted = fgets(text, sizeof(text), file) != NULL &&
              strstr(text, "tsc") != NULL;
    fclose(file);
    return trusted;
}

static bool ticks_are_constant(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 &&
           (d & (1u << 8)) != 0 && kernel_trusts_tsc();
}
#elif defined(__aarch64__)
static inline uint64_t ticks_read(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static bool ticks_are_constant(void)
{
    return true; /* the architecture says so */
}
#else
static inline uint64_t ticks_read(void)
{
    return 0;
}

static bool ticks_are_constant(void)
{
    return false;
}
#endif

/* One reading of both clocks, the closest together of a few tries. */
static void clocks_read(uint64_t *ns_p, uint64_t *ticks_p)
{
    uint64_t gap_min = UINT64_MAX;

    for (int i = 0; i < CALIBRATE_TRIES; i++) {
        uint64_t before = monotonic_ns();
        uint64_t ticks = ticks_read();
        uint64_t after = monotonic_ns();

        if (after - before < gap_min) {
            gap_min = after - before;
            *ns_p = before + (after - before) / 2;
            *ticks_p = ticks;
        }
    }
}

/* Measure the counter's rate; false if it does not seem to count. */
static bool calibrate(struct env_real *real)
{
    uint64_t ns = 0;
    uint64_t ticks = 0;

    clocks_read(&real->start_ns, &real->start_ticks);
    do {
        clocks_read(&ns, &ticks);
    } while (ns - real->start_ns < CALIBRATE_NS);
    if (ticks <= real->start_ticks) {
        return false;
    }
    real->ps_per_tick_q32 =
            (uint64_t)(((unsigned __int128)(ns - real->start_ns) * PS_PER_NS
                        << 32) /
                       (ticks - real->start_ticks));
    return true;
}

static uint64_t now_ticks(struct am_env *env)
{
    const struct env_real *real = am_container(env, struct env_real, env);
    uint64_t ticks = ticks_read() - real->start_ticks;

    return real->start_ps +
           (uint64_t)((unsigned __int128)ticks * real->ps_per_tick_q32 >> 32);
}

uint64_t am_env_processor_ns(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t am_env_switches(void)
{
    struct rusage use;

    (void)getrusage(RUSAGE_THREAD, &use);
    return (uint64_t)use.ru_nvcsw + (uint64_t)use.ru_nivcsw;
}

static uint64_t faults_real(struct am_env *env)
{
    struct rusage use;

    (void)env;
    (void)getrusage(RUSAGE_THREAD, &use);
    return (uint64_t)use.ru_minflt + (uint64_t)use.ru_majflt;
}

static uint64_t now_clock(struct am_env *env)
{
    const struct env_real *real = am_container(env, struct env_real, env);

    return real->start_ps + (monotonic_ns() - real->start_ns) * PS_PER_NS;
}

static void charge_nothing(struct am_env *env, am_cost_t kind, uint64_t units)
{
    (void)env;
    (void)kind;
    (void)units;
}

static void relax_real(struct am_env *env, uint64_t deadline_ps)
{
    uint64_t now_ps = am_env_now(env);
    uint64_t sleep_ps;
    struct timespec time = {0};

    if (deadline_ps <= now_ps || deadline_ps - now_ps < RELAX_SLEEP_PS) {
        sched_yield();
        return;
    }
    sleep_ps = deadline_ps - now_ps - RELAX_SLACK_PS;
    if (sleep_ps > RELAX_MAX_PS) {
        sleep_ps = RELAX_MAX_PS;
    }
    time.tv_nsec = (long)(sleep_ps / PS_PER_NS);
    nanosleep(&time, NULL); /* a signal may end it early: allowed */
}

/* splitmix64 (Steele et al. 2014) on a shared Weyl sequence: no lock. */
static uint64_t random_real(struct am_env *env)
{
    struct env_real *real = am_container(env, struct env_real, env);
    uint64_t z = atomic_fetch_add_explicit(&real->random, WEYL,
                                           memory_order_relaxed) +
                 WEYL;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int alarm_open_real(struct am_env *env)
{
    (void)env;
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

static void alarm_set_real(struct am_env *env, int alarm, uint64_t ns)
{
    struct itimerspec when = {.it_value = {.tv_sec = (time_t)(ns / NS_PER_S),
                                           .tv_nsec = (long)(ns % NS_PER_S)}};

    (void)env;
    (void)timerfd_settime(alarm, 0, &when, NULL);
}

static const struct am_env_ops ops_ticks = {.now = now_ticks,
                                            .charge = charge_nothing,
                                            .relax = relax_real,
                                            .random = random_real,
                                            .alarm_open = alarm_open_real,
                                            .alarm_set = alarm_set_real,
                                            .faults = faults_real};
static const struct am_env_ops ops_clock = {.now = now_clock,
                                            .charge = charge_nothing,
                                            .relax = relax_real,
                                            .random = random_real,
                                            .alarm_open = alarm_open_real,
                                            .alarm_set = alarm_set_real,
                                            .faults = faults_real};

/* The process's one environment; set up once, then only `random` moves. */
static struct env_real env_real;
static pthread_once_t env_once = PTHREAD_ONCE_INIT;

/* Also in a child after fork, which would else draw its parent's numbers. */
static void seed_random(void)
{
    uint64_t seed;

    if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) !=
        (ssize_t)sizeof(seed)) {
        seed = monotonic_ns() ^ (uint64_t)getpid() << 32;
    }
    atomic_store(&env_real.random, seed);
}

static void env_setup(void)
{
    bool constant = ticks_are_constant() && calibrate(&env_real);

    if (!constant) {
        env_real.start_ns = monotonic_ns();
    }
    env_real.start_ps = env_real.start_ns % START_MODULO_NS * PS_PER_NS;
    env_real.env.ops = constant ? &ops_ticks : &ops_clock;
    seed_random();
    pthread_atfork(NULL, NULL, seed_random);
}

struct am_env *am_env_real(void)
{
    pthread_once(&env_once, env_setup);
    return &env_real.env;
}
