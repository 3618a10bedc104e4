#include "client/cli/app.h"

int main(int argc, char** argv) { return coppice::RunCommandLine(argc, argv); }
