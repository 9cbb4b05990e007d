import signal

for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGPIPE", "SIGUSR1", "SIGALRM", "SIGCHLD", "SIGQUIT"):
    print(name, signal.getsignal(getattr(signal, name)))
print(signal.getitimer(signal.ITIMER_REAL), signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.set_wakeup_fd(-1))
