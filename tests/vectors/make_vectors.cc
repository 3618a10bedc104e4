// Writes the test vectors again; run it by hand after a change that is meant to change them:
//
//   make_vectors --output DIR

#include <fstream>
#include <iostream>
#include <string>

#include "tests/vectors/vectors.h"

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "--output") {
    std::cerr << "usage: make_vectors --output DIR\n";
    return 2;
  }
  for (const auto& [name, text] : coppice::vectors::MakeAllVectors()) {
    const std::string path = std::string(argv[2]) + "/" + name;
    std::ofstream file(path, std::ios::binary);
    if (!(file << text).flush()) {
      std::cerr << path << ": cannot be written\n";
      return 1;
    }
  }
  return 0;
}
