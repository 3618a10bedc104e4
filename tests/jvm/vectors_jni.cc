// All vectors, made in the process of a JVM: the native half of VectorsTest.

#include <jni.h>

#include <string>
#include <vector>

#include "tests/vectors/vectors.h"

namespace {

jbyteArray ToJava(JNIEnv* env, const std::string& bytes) {
  jbyteArray array = env->NewByteArray(static_cast<jsize>(bytes.size()));
  env->SetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()),
                          reinterpret_cast<const jbyte*>(bytes.data()));
  return array;
}

}  // namespace

extern "C" JNIEXPORT jobjectArray JNICALL Java_VectorsTest_make(JNIEnv* env, jclass) {
  const std::vector<coppice::vectors::VectorFile> files = coppice::vectors::MakeAllVectors();
  jobjectArray made =
      env->NewObjectArray(static_cast<jsize>(2 * files.size()), env->FindClass("[B"), nullptr);
  jsize at = 0;
  for (const coppice::vectors::VectorFile& file : files) {
    env->SetObjectArrayElement(made, at++, ToJava(env, file.name));
    env->SetObjectArrayElement(made, at++, ToJava(env, file.text));
  }
  return made;
}
