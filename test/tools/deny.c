/*
 * deny COMMAND...: run a command that may not call process_vm_readv and
 * process_vm_writev, as inside many containers.  A seccomp filter answers
 * EPERM.  Exits with 77 where filters cannot be installed.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    EXIT_SKIP = 77
};

int main(int argc, char **argv)
{
    struct sock_filter code[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                     offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]),
                                 .filter = code};

    if (argc < 2) {
        return 2;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        fprintf(stderr, "deny: no seccomp filter: %s\n", strerror(errno));
        return EXIT_SKIP;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "deny: cannot run %s: %s\n", argv[1], strerror(errno));
    return 2;
}
