// coppiced, the curator's daemon. What it does is in the room's library, which compiles it with
// what it includes anyway.

#include "server/daemon/commands/run_daemon.h"

int main(int argc, char** argv) { return coppice::daemon::RunDaemon(argc, argv); }
