// Reads what a study's terms consist of from the bytes that are sent and hashed.
//
// Errors     InvalidArgument that names the field, for bytes that are no such message and for
// values
//            that are refused. All input is hostile; what is returned satisfies its type's
//            invariants.

#ifndef COPPICE_COMMON_WIRE_TERMS_H_
#define COPPICE_COMMON_WIRE_TERMS_H_

#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/model/tree.h"
#include "common/schema/schema.h"
#include "common/terms/terms.h"
#include "common/wire/messages.h"

namespace coppice {

StatusOr<Terms> ReadTerms(std::string_view bytes);
StatusOr<Schema> ReadSchemaMessage(std::string_view bytes);

// The tree must fit the schema. A node takes a byte or two on the wire and 64 in memory, so that
// callers bound the bytes of foreign trees.
StatusOr<Tree> ReadTree(std::string_view bytes, const Schema& schema);
StatusOr<Forest> ReadForest(std::string_view bytes, const Schema& schema);
// A tree that devices can answer in: it also fits a report.
StatusOr<Tree> ReadStudyTree(std::string_view bytes, const Terms& terms);

// Tree `number` of the study, from its bytes and its path. DataLoss if the terms' forest_root does
// not cover it; only then is it read.
StatusOr<Tree> ReadProvenTree(const Terms& terms, uint32_t number, std::string_view bytes,
                              std::string_view path);

// By the numbers of coppice.v1.Mechanism.
StatusOr<MechanismKind> MakeMechanismKind(int32_t number);

// Parts of other messages.
StatusOr<Schema> MakeSchema(SchemaMessage message);
StatusOr<Tree> MakeTree(TreeMessage message, const Schema& schema);
StatusOr<Forest> MakeForest(ForestMessage message, const Schema& schema);

}  // namespace coppice

#endif  // COPPICE_COMMON_WIRE_TERMS_H_
