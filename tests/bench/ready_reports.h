// Reports that are ready to be sent to a running coppiced, one per call, so that a benchmark times
// their delivery alone.
//
// Errors     ends the program with a line on stderr.

#ifndef COPPICE_TESTS_BENCH_READY_REPORTS_H_
#define COPPICE_TESTS_BENCH_READY_REPORTS_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "coppice/v1/report.pb.h"

namespace coppice {

// The file's bytes.
std::string ReadFileOrExit(const std::string& path);

// A channel that shares its connection with no other of this process.
std::shared_ptr<grpc::Channel> ConnectAlone(const std::string& server, const std::string& ca_file);

// `reports` calls of one fresh report each, about a row in the middle of every feature. The terms
// are fetched once, tickets a thousand at a time.
std::vector<v1::SubmitReportsRequest> MakeReadyReports(const std::string& server,
                                                       const std::string& ca_file,
                                                       const std::string& study, size_t reports);

double Median(std::vector<double> values);

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_READY_REPORTS_H_
