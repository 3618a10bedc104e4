// coppice-relay. What it does is in the room's library, which compiles it with what it includes
// anyway.

#include "server/relay/daemon/run_relay.h"

int main(int argc, char** argv) { return coppice::relay::RunRelay(argc, argv); }
