// What there is in the curator, as metrics: reports by study and outcome, budgets by dataset, jobs.
//
// The first kMaxNamed studies and datasets in the order of their ids have a line each; the other
// studies are added up as study "_other", which no id can be, and the other datasets are left out.
// Reports to studies that there are not are one, "_unknown": their names are the senders' and are
// not shown.
//
// Guarantee  numbers of reports are no secret of a row; numbers of rows of datasets are, and when a
//            job ends follows from them: neither is here, but for the day. Names are those that
//            operators and owners chose.

#ifndef COPPICE_SERVER_METRICS_CURATOR_READINGS_H_
#define COPPICE_SERVER_METRICS_CURATOR_READINGS_H_

#include <cstdint>
#include <functional>

#include "common/serving/readings.h"
#include "server/central/datasets.h"
#include "server/central/jobs.h"
#include "server/curator/studies/studies.h"

namespace coppice::metrics {

// All of them must outlive `readings`.
void AddStudyReadings(const curator::Studies& studies, Readings& readings);
void AddDatasetReadings(const central::Datasets& datasets, Readings& readings);
// `clock` returns seconds since 1970.
void AddJobReadings(const central::Jobs& jobs, std::function<int64_t()> clock, Readings& readings);

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_METRICS_CURATOR_READINGS_H_
