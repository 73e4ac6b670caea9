/*
 * deny [--others | --pidfd] COMMAND...: run a command that may not call
 * process_vm_readv and process_vm_writev, as inside many containers; with
 * --others it may on itself, as under the Yama module.  With --pidfd it may not
 * call pidfd_open instead.  A seccomp filter answers EPERM.  Exits with 77 where
 * filters cannot be installed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    EXIT_SKIP = 77
};

static int install(struct sock_filter *code, unsigned short length)
{
    struct sock_fprog program = {.len = length, .filter = code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
                           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
                                 &program) != 0
                   ? -1
                   : 0;
}

static int deny_copies(uint32_t allowed)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                     offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                     offsetof(struct seccomp_data, args[0])),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed, 1, 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    return install(code, sizeof(code) / sizeof(code[0]));
}

static int deny_pidfds(void)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                     offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };

    return install(code, sizeof(code) / sizeof(code[0]));
}

int main(int argc, char **argv)
{
    bool others = argc > 1 && strcmp(argv[1], "--others") == 0;
    bool pidfds = argc > 1 && strcmp(argv[1], "--pidfd") == 0;
    int options = others || pidfds;

    argv += 1 + options;
    if (argc < 2 + options) {
        return 2;
    }
    /* the pid stays over execvp; no pid is 0 */
    if ((pidfds ? deny_pidfds()
                : deny_copies(others ? (uint32_t)getpid() : 0)) != 0) {
        fprintf(stderr, "deny: no seccomp filter: %s\n", strerror(errno));
        return EXIT_SKIP;
    }
    execvp(argv[0], argv);
    fprintf(stderr, "deny: cannot run %s: %s\n", argv[0], strerror(errno));
    return 2;
}
