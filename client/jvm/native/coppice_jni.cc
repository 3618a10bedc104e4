// The native half of the jar coppice-device: the functions of coppice_device.h for
// coppice.device.Native.
//
// Guarantee  No pointer of Java's outlives the call that it came with, and no C++ or Java exception
//            crosses the other's frames. Texts cross as UTF-8 in arrays of bytes. A row is read
//            after everything that may fail: what Java throws then, and memory that it lacks, are
//            caught there (Visit.onReadRow), and what was set counts.
// Errors     The C interface's, as subclasses of CoppiceException; OutOfMemoryError where Java or
//            this file has no memory, before anything was changed.
// Threads    as the C interface's. Native.java says who sees to it.

#include <jni.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <vector>

#include "client/device/c/coppice_device.h"

namespace {

// Looked up once: classes of the jar, which are not unloaded while this library is loaded.
struct JavaNames {
  jclass exception, call, answer, outcome, state;
  jmethodID exception_of, call_of, answer_add, outcome_of, state_init, on_review, on_read_row;
};
JavaNames names;

// Java has thrown already, and does so once the native function returns.
class JavaThrew : public std::exception {};

void Check(JNIEnv* env) {
  if (env->ExceptionCheck() == JNI_TRUE) throw JavaThrew();
}

template <typename T>
T Made(JNIEnv* env, T made) {
  Check(env);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

jbyteArray ToJava(JNIEnv* env, const void* bytes, size_t size) {
  jbyteArray array = Made(env, env->NewByteArray(static_cast<jsize>(size)));
  env->SetByteArrayRegion(array, 0, static_cast<jsize>(size), static_cast<const jbyte*>(bytes));
  return array;
}

jbyteArray ToJava(JNIEnv* env, const char* text) {
  const char* const shown = text == nullptr ? "" : text;
  return ToJava(env, shown, std::strlen(shown));
}

// Null stays null, as an empty pointer.
std::unique_ptr<std::string> BytesOf(JNIEnv* env, jbyteArray array) {
  if (array == nullptr) return nullptr;
  auto bytes = std::make_unique<std::string>(static_cast<size_t>(env->GetArrayLength(array)), '\0');
  env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes->size()),
                          reinterpret_cast<jbyte*>(bytes->data()));
  Check(env);
  return bytes;
}

// What Java wrote to be read as C: it ends with a zero byte.
const char* TextOf(const std::unique_ptr<std::string>& text) {
  return text == nullptr ? nullptr : text->c_str();
}

const uint8_t* KeyOf(const std::unique_ptr<std::string>& key) {
  return key == nullptr || key->size() != 32 ? nullptr
                                             : reinterpret_cast<const uint8_t*>(key->data());
}

// An array of texts, and the pointers to them that C takes.
struct Texts {
  Texts(JNIEnv* env, jobjectArray array) {
    const jsize size = env->GetArrayLength(array);
    for (jsize i = 0; i < size; ++i) {
      const auto element = static_cast<jbyteArray>(env->GetObjectArrayElement(array, i));
      owned.push_back(BytesOf(env, element));
      env->DeleteLocalRef(element);
      pointers.push_back(TextOf(owned.back()));
    }
  }
  const char* const* data() const { return pointers.empty() ? nullptr : pointers.data(); }

  std::vector<std::unique_ptr<std::string>> owned;
  std::vector<const char*> pointers;
};

void ThrowCode(JNIEnv* env, const coppice_error& error) {
  jbyteArray text = ToJava(env, error.text);
  const jobject thrown =
      Made(env, env->CallStaticObjectMethod(names.exception, names.exception_of, error.code, text));
  env->Throw(static_cast<jthrowable>(thrown));
  throw JavaThrew();
}

void CheckOk(JNIEnv* env, const coppice_error& error) {
  if (error.code != COPPICE_OK) ThrowCode(env, error);
}

// Runs a native function; what it throws becomes Java's.
template <typename Work>
auto Guarded(JNIEnv* env, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const JavaThrew&) {
  } catch (...) {
    const jclass no_memory = env->FindClass("java/lang/OutOfMemoryError");
    if (no_memory != nullptr) env->ThrowNew(no_memory, "the native half has no memory");
  }
  return decltype(work())();
}

template <typename Struct>
Struct Sized() {
  Struct made{};
  made.struct_size = sizeof(made);
  return made;
}

coppice_device* DeviceOf(jlong handle) { return reinterpret_cast<coppice_device*>(handle); }
const coppice_terms* TermsOf(jlong handle) { return reinterpret_cast<coppice_terms*>(handle); }
coppice_row* RowOf(jlong handle) { return reinterpret_cast<coppice_row*>(handle); }
template <typename T>
jlong HandleOf(T* pointer) {
  return reinterpret_cast<jlong>(pointer);
}

// A visit, and what its callbacks need while a native function runs.
struct JavaVisit {
  coppice_visit* visit = nullptr;
  JNIEnv* env = nullptr;
  jobject self = nullptr;
};
JavaVisit& VisitOf(jlong handle) { return *reinterpret_cast<JavaVisit*>(handle); }

// While it lives, the visit's callbacks run in `self`.
class Entered {
 public:
  Entered(JNIEnv* env, jlong handle, jobject self) : visit_(VisitOf(handle)) {
    visit_.env = env;
    visit_.self = self;
  }
  ~Entered() {
    visit_.env = nullptr;
    visit_.self = nullptr;
  }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

  coppice_visit* get() const { return visit_.visit; }

 private:
  JavaVisit& visit_;
};

int32_t Review(void* context, const coppice_terms* terms) {
  const JavaVisit& visit = *static_cast<JavaVisit*>(context);
  const jboolean agrees =
      visit.env->CallBooleanMethod(visit.self, names.on_review, HandleOf(terms));
  if (visit.env->ExceptionCheck() == JNI_FALSE) return agrees == JNI_TRUE ? 1 : 0;
  visit.env->ExceptionClear();  // such as a stack that was too short to catch it in Java
  return 0;
}

void ReadRow(void* context, const coppice_terms*, coppice_row* row) {
  const JavaVisit& visit = *static_cast<JavaVisit*>(context);
  visit.env->CallVoidMethod(visit.self, names.on_read_row, HandleOf(row));
  visit.env->ExceptionClear();  // what was set counts
}

// ---- coppice.device.Native --------------------------------------------------------------------

jbyteArray Version(JNIEnv* env, jclass) {
  return Guarded(env, [&] { return ToJava(env, coppice_device_version()); });
}

jint MaxResponseBytes(JNIEnv*, jclass) { return static_cast<jint>(COPPICE_MAX_RESPONSE_BYTES); }

jbyteArray ParseKey(JNIEnv* env, jclass, jbyteArray text) {
  return Guarded(env, [&] {
    const auto read = BytesOf(env, text);
    uint8_t key[32];
    coppice_error error{};
    coppice_key_parse(TextOf(read), key, &error);
    CheckOk(env, error);
    return ToJava(env, key, sizeof(key));
  });
}

// A negative limit leaves what the library has.
void SetLimits(JNIEnv* env, jlongArray limits, coppice_device_options& options) {
  jlong read[9];
  env->GetLongArrayRegion(limits, 0, 9, read);
  Check(env);
  const auto set = [&read](int at, auto& field) {
    if (read[at] < 0) return;
    using Field = std::remove_reference_t<decltype(field)>;
    const auto value = static_cast<uint64_t>(read[at]);
    // What is too large for its field is the field's largest.
    field = value > std::numeric_limits<Field>::max() ? std::numeric_limits<Field>::max()
                                                      : static_cast<Field>(value);
  };
  set(0, options.max_epsilon_nanos);
  set(1, options.max_total_epsilon_nanos);
  set(2, options.max_waiting);
  set(3, options.max_journal_bytes);
  set(4, options.min_reports);
  set(5, options.min_batch);
  set(6, options.max_offer_bytes);
  set(7, options.max_send_delay_seconds);
  set(8, options.max_epsilon_direct_nanos);
}

// The device's own columns, with all that they point to.
struct OwnColumns {
  OwnColumns(JNIEnv* env, jobjectArray names_in, jintArray kinds, jdoubleArray numbers,
             jobjectArray units_in, jobjectArray values_in)
      : names_of(env, names_in), units(env, units_in) {
    const auto size = static_cast<jsize>(names_of.pointers.size());
    std::vector<jint> kind(2 * names_of.pointers.size());
    std::vector<jdouble> number(kind.size());
    env->GetIntArrayRegion(kinds, 0, 2 * size, kind.data());
    env->GetDoubleArrayRegion(numbers, 0, 2 * size, number.data());
    Check(env);
    for (jsize i = 0; i < size; ++i) {
      const auto array = static_cast<jobjectArray>(env->GetObjectArrayElement(values_in, i));
      values.push_back(std::make_unique<Texts>(env, array));
      env->DeleteLocalRef(array);
      const auto at = static_cast<size_t>(i);
      coppice_own_column& column = columns.emplace_back();
      column.name = names_of.pointers[at];
      column.kind = kind[2 * at];
      column.is_whole = kind[2 * at + 1];
      column.min = number[2 * at];
      column.max = number[2 * at + 1];
      column.unit = *units.pointers[at] == '\0' ? nullptr : units.pointers[at];
      column.values = values.back()->data();
      column.num_values = values.back()->pointers.size();
    }
  }

  Texts names_of, units;
  std::vector<std::unique_ptr<Texts>> values;
  std::vector<coppice_own_column> columns;
};

jlong OpenDevice(JNIEnv* env, jclass, jbyteArray journal, jbyteArray subject, jlongArray limits,
                 jboolean require_pin, jbyteArray curator_key, jbyteArray relay_key,
                 jobjectArray allowed_in_clear, jobjectArray join_ids, jobjectArray own_names,
                 jintArray own_kinds, jdoubleArray own_numbers, jobjectArray own_units,
                 jobjectArray own_values) {
  return Guarded(env, [&] {
    coppice_device_options options;
    coppice_device_options_init(&options);
    const auto path = BytesOf(env, journal), whose = BytesOf(env, subject);
    const auto curator = BytesOf(env, curator_key), relay = BytesOf(env, relay_key);
    const Texts shows(env, allowed_in_clear), ids(env, join_ids);
    const OwnColumns own(env, own_names, own_kinds, own_numbers, own_units, own_values);
    SetLimits(env, limits, options);
    options.journal_path = TextOf(path);
    if (whose != nullptr) options.subject = TextOf(whose);
    options.require_pin = require_pin == JNI_TRUE ? 1 : 0;
    options.curator_key = KeyOf(curator);
    options.relay_key = KeyOf(relay);
    options.shows = shows.data();
    options.num_shows = shows.pointers.size();
    options.join_ids = ids.data();
    options.num_join_ids = ids.pointers.size();
    options.own_columns = own.columns.empty() ? nullptr : own.columns.data();
    options.num_own_columns = own.columns.size();
    coppice_device* device = nullptr;
    coppice_error error{};
    coppice_device_open(&options, &device, &error);
    CheckOk(env, error);
    return HandleOf(device);
  });
}

void CloseDevice(JNIEnv*, jclass, jlong device) { coppice_device_close(DeviceOf(device)); }

void OptOut(JNIEnv* env, jclass, jlong device, jboolean opted_out) {
  Guarded(env, [&] {
    coppice_error error{};
    coppice_device_opt_out(DeviceOf(device), opted_out == JNI_TRUE ? 1 : 0, &error);
    CheckOk(env, error);
  });
}

jobject State(JNIEnv* env, jclass, jlong device) {
  return Guarded(env, [&] {
    auto state = Sized<coppice_device_state>();
    coppice_error error{};
    coppice_device_get_state(DeviceOf(device), &state, &error);
    CheckOk(env, error);
    return Made(env,
                env->NewObject(names.state, names.state_init, static_cast<jlong>(state.answers),
                               static_cast<jlong>(state.waiting),
                               static_cast<jlong>(state.spent_epsilon_nanos),
                               static_cast<jlong>(state.left_epsilon_nanos),
                               static_cast<jlong>(state.journal_bytes),
                               static_cast<jboolean>(state.opted_out != 0 ? JNI_TRUE : JNI_FALSE)));
  });
}

// The list that answers go to. C shows them one by one, and must not see an exception.
struct AnswerList {
  JNIEnv* env;
  jobject into;
  bool failed = false;
};

void AddAnswer(void* context, const coppice_answer* answer) {
  auto& list = *static_cast<AnswerList*>(context);
  if (list.failed) return;
  try {
    JNIEnv* const env = list.env;
    jbyteArray study = ToJava(env, answer->study);
    jbyteArray payload =
        answer->payload == nullptr ? nullptr : ToJava(env, answer->payload, answer->payload_size);
    jbyteArray key =
        answer->curator_key == nullptr ? nullptr : ToJava(env, answer->curator_key, 32);
    env->CallStaticVoidMethod(names.answer, names.answer_add, list.into, study,
                              static_cast<jlong>(answer->epsilon_nanos),
                              static_cast<jboolean>(answer->delivered != 0),
                              static_cast<jboolean>(answer->sealed != 0), payload, key);
    Check(env);
    env->DeleteLocalRef(study);
    if (payload != nullptr) env->DeleteLocalRef(payload);
    if (key != nullptr) env->DeleteLocalRef(key);
  } catch (...) {
    list.failed = true;
  }
}

void History(JNIEnv* env, jclass, jlong device, jobject into) {
  Guarded(env, [&] {
    AnswerList list{env, into};
    coppice_error error{};
    coppice_device_history(DeviceOf(device), AddAnswer, &list, &error);
    Check(env);
    if (list.failed) throw std::bad_alloc();
    CheckOk(env, error);
  });
}

void GiveUp(JNIEnv* env, jclass, jlong device, jbyteArray study) {
  Guarded(env, [&] {
    const auto id = BytesOf(env, study);
    coppice_error error{};
    coppice_device_give_up(DeviceOf(device), TextOf(id), &error);
    CheckOk(env, error);
  });
}

jlong OpenVisit(JNIEnv* env, jclass, jlong device, jbyteArray curator, jbyteArray relay,
                jbyteArray study, jbyteArray token) {
  return Guarded(env, [&] {
    const auto curator_address = BytesOf(env, curator), relay_address = BytesOf(env, relay);
    const auto id = BytesOf(env, study), shown = BytesOf(env, token);
    auto visit = std::make_unique<JavaVisit>();
    coppice_visit_options options;
    coppice_visit_options_init(&options);
    options.curator = TextOf(curator_address);
    options.relay = TextOf(relay_address);
    options.study = TextOf(id);
    options.submission_token = KeyOf(shown);
    options.review = Review;
    options.read_row = ReadRow;
    options.context = visit.get();
    coppice_error error{};
    coppice_visit_open(DeviceOf(device), &options, &visit->visit, &error);
    CheckOk(env, error);
    return HandleOf(visit.release());
  });
}

void CloseVisit(JNIEnv*, jclass, jlong handle) {
  JavaVisit* const visit = &VisitOf(handle);
  coppice_visit_close(visit->visit);
  delete visit;
}

jobject Next(JNIEnv* env, jclass, jlong handle, jobject self) {
  return Guarded(env, [&]() -> jobject {
    const Entered visit(env, handle, self);
    auto call = Sized<coppice_call>();
    coppice_error error{};
    coppice_visit_next(visit.get(), &call, &error);
    CheckOk(env, error);
    if (call.method == nullptr) return nullptr;
    jbyteArray method = ToJava(env, call.method);
    jbyteArray request = ToJava(env, call.request, call.request_size);
    return Made(env, env->CallStaticObjectMethod(
                         names.call, names.call_of, method, request,
                         static_cast<jlong>(call.wait_milliseconds),
                         static_cast<jboolean>(call.takes_ticket != 0 ? JNI_TRUE : JNI_FALSE)));
  });
}

void Take(JNIEnv* env, jclass, jlong handle, jobject self, jbyteArray response) {
  Guarded(env, [&] {
    const auto bytes = BytesOf(env, response);
    const Entered visit(env, handle, self);
    coppice_error error{};
    coppice_visit_take(visit.get(), reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size(),
                       &error);
    CheckOk(env, error);
  });
}

void Fail(JNIEnv* env, jclass, jlong handle, jobject self, jint code) {
  Guarded(env, [&] {
    const Entered visit(env, handle, self);
    coppice_error error{};
    coppice_visit_fail(visit.get(), code, &error);
    CheckOk(env, error);
  });
}

jobject GetOutcome(JNIEnv* env, jclass, jlong handle) {
  return Guarded(env, [&] {
    auto outcome = Sized<coppice_outcome>();
    coppice_visit_get_outcome(VisitOf(handle).visit, &outcome);
    // A visit goes to one of both, so one of each two counts is 0.
    const auto count = [](uint64_t curators, uint64_t relays) {
      return static_cast<jlong>(curators + relays);
    };
    return Made(env, env->CallStaticObjectMethod(
                         names.outcome, names.outcome_of, outcome.answer.code,
                         ToJava(env, outcome.answer.text),
                         static_cast<jboolean>(outcome.answered_now != 0 ? JNI_TRUE : JNI_FALSE),
                         count(outcome.delivered, outcome.stored),
                         count(outcome.refused, outcome.lost), static_cast<jlong>(outcome.unknown),
                         count(outcome.of_other_curators, outcome.of_others),
                         static_cast<jlong>(outcome.clock_behind_seconds), outcome.loss.code,
                         ToJava(env, outcome.loss.text)));
  });
}

jbyteArray TermsStudy(JNIEnv* env, jclass, jlong terms) {
  return Guarded(env, [&] { return ToJava(env, coppice_terms_study(TermsOf(terms))); });
}

jlong TermsEpsilonNanos(JNIEnv*, jclass, jlong terms) {
  return static_cast<jlong>(coppice_terms_epsilon_nanos(TermsOf(terms)));
}

jbyteArray TermsMechanism(JNIEnv* env, jclass, jlong terms) {
  return Guarded(env, [&] { return ToJava(env, coppice_terms_mechanism(TermsOf(terms))); });
}

jint NumColumns(JNIEnv*, jclass, jlong terms) {
  return static_cast<jint>(coppice_schema_num_columns(coppice_terms_schema(TermsOf(terms))));
}

jbyteArray GetColumn(JNIEnv* env, jclass, jlong terms, jint number, jdoubleArray bounds,
                     jintArray facts) {
  return Guarded(env, [&] {
    coppice_column column{};
    coppice_schema_column(coppice_terms_schema(TermsOf(terms)), static_cast<uint32_t>(number),
                          &column);
    const jdouble ends[] = {column.min, column.max};
    const jint other[] = {column.kind, column.is_public, static_cast<jint>(column.num_values)};
    env->SetDoubleArrayRegion(bounds, 0, 2, ends);
    env->SetIntArrayRegion(facts, 0, 3, other);
    Check(env);
    return ToJava(env, column.name);
  });
}

jbyteArray GetValue(JNIEnv* env, jclass, jlong terms, jint column, jint value) {
  return Guarded(env, [&] {
    return ToJava(
        env, coppice_schema_value(coppice_terms_schema(TermsOf(terms)),
                                  static_cast<uint32_t>(column), static_cast<uint32_t>(value)));
  });
}

void SetText(JNIEnv* env, jclass, jlong row, jbyteArray column, jbyteArray text) {
  Guarded(env, [&] {
    const auto name = BytesOf(env, column), value = BytesOf(env, text);
    coppice_row_set_text(RowOf(row), TextOf(name), value->data(), value->size());
  });
}

void SetNumber(JNIEnv* env, jclass, jlong row, jbyteArray column, jdouble number) {
  Guarded(env, [&] {
    const auto name = BytesOf(env, column);
    coppice_row_set_number(RowOf(row), TextOf(name), number);
  });
}

// ---- Loading ----------------------------------------------------------------------------------

#define COPPICE_CLASS(name) "coppice/device/" name
#define COPPICE_TYPE(name) "L" COPPICE_CLASS(name) ";"

template <typename Function>
JNINativeMethod Method(const char* name, const char* type, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(type), reinterpret_cast<void*>(function)};
}

bool RegisterMethods(JNIEnv* env) {
  const JNINativeMethod methods[] = {
      Method("version", "()[B", Version),
      Method("maxResponseBytes", "()I", MaxResponseBytes),
      Method("parseKey", "([B)[B", ParseKey),
      Method("openDevice", "([B[B[JZ[B[B[[B[[B[[B[I[D[[B[[[B)J", OpenDevice),
      Method("closeDevice", "(J)V", CloseDevice),
      Method("optOut", "(JZ)V", OptOut),
      Method("state", "(J)" COPPICE_TYPE("DeviceState"), State),
      Method("history", "(JLjava/util/List;)V", History),
      Method("giveUp", "(J[B)V", GiveUp),
      Method("openVisit", "(J[B[B[B[B)J", OpenVisit),
      Method("closeVisit", "(J)V", CloseVisit),
      Method("next", "(J" COPPICE_TYPE("Visit") ")" COPPICE_TYPE("Call"), Next),
      Method("take", "(J" COPPICE_TYPE("Visit") "[B)V", Take),
      Method("fail", "(J" COPPICE_TYPE("Visit") "I)V", Fail),
      Method("outcome", "(J)" COPPICE_TYPE("Outcome"), GetOutcome),
      Method("termsStudy", "(J)[B", TermsStudy),
      Method("termsEpsilonNanos", "(J)J", TermsEpsilonNanos),
      Method("termsMechanism", "(J)[B", TermsMechanism),
      Method("numColumns", "(J)I", NumColumns),
      Method("column", "(JI[D[I)[B", GetColumn),
      Method("value", "(JII)[B", GetValue),
      Method("setText", "(J[B[B)V", SetText),
      Method("setNumber", "(J[BD)V", SetNumber)};
  const jclass native = env->FindClass(COPPICE_CLASS("Native"));
  return native != nullptr &&
         env->RegisterNatives(native, methods, sizeof(methods) / sizeof(*methods)) == JNI_OK;
}

jclass FindClass(JNIEnv* env, const char* name) {
  const jclass found = Made(env, env->FindClass(name));
  return static_cast<jclass>(Made(env, env->NewGlobalRef(found)));
}

void FindNames(JNIEnv* env) {
  names.exception = FindClass(env, COPPICE_CLASS("CoppiceException"));
  names.call = FindClass(env, COPPICE_CLASS("Call"));
  names.answer = FindClass(env, COPPICE_CLASS("Answer"));
  names.outcome = FindClass(env, COPPICE_CLASS("Outcome"));
  names.state = FindClass(env, COPPICE_CLASS("DeviceState"));
  const jclass visit = FindClass(env, COPPICE_CLASS("Visit"));
  const auto of = [env](jclass type, const char* name, const char* signature) {
    return Made(env, env->GetStaticMethodID(type, name, signature));
  };
  names.exception_of = of(names.exception, "of", "(I[B)" COPPICE_TYPE("CoppiceException"));
  names.call_of = of(names.call, "of", "([B[BJZ)" COPPICE_TYPE("Call"));
  names.answer_add = of(names.answer, "add", "(Ljava/util/List;[BJZZ[B[B)V");
  names.outcome_of = of(names.outcome, "of", "(I[BZJJJJJI[B)" COPPICE_TYPE("Outcome"));
  names.state_init = Made(env, env->GetMethodID(names.state, "<init>", "(JJJJJZ)V"));
  names.on_review = Made(env, env->GetMethodID(visit, "onReview", "(J)Z"));
  names.on_read_row = Made(env, env->GetMethodID(visit, "onReadRow", "(J)V"));
}

}  // namespace

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* machine, void*) {
  void* env = nullptr;
  if (machine->GetEnv(&env, JNI_VERSION_1_6) != JNI_OK) return JNI_ERR;
  auto* const java = static_cast<JNIEnv*>(env);
  const bool found = Guarded(java, [&] {
    FindNames(java);
    return true;
  });
  return found && RegisterMethods(java) ? JNI_VERSION_1_6 : JNI_ERR;
}
