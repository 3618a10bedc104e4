// The jar's sources and its native half as a library module of Android. A recipe: not tested on a phone here.
//
// gradle.properties names the folder of OpenSSL 3 and Abseil, built for each ABI below it:
//   coppice.dependencies=/path/with/arm64-v8a/and/the/others
plugins {
    id("com.android.library") version "8.5.0"
    id("org.jetbrains.kotlin.android") version "1.9.24"
}

val builtLibraries = providers.gradleProperty("coppice.dependencies").get()

android {
    namespace = "coppice.device"
    compileSdk = 34
    ndkVersion = "26.3.11579264"

    defaultConfig {
        minSdk = 30 // the journal replaces its file by renameat2(), which Android's library has since then
        ndk { abiFilters += listOf("arm64-v8a", "armeabi-v7a", "x86_64") }
        externalNativeBuild {
            cmake {
                targets += "coppice_jni"
                arguments += listOf(
                    "-DCOPPICE_DEVICE_ONLY=ON", "-DCOPPICE_BUILD_TESTS=OFF", "-DCOPPICE_JVM=ON", "-DCOPPICE_UNITY=ON",
                    "-DANDROID_STL=c++_static", "-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=BOTH",
                    "-DCMAKE_PREFIX_PATH=$builtLibraries/\${ANDROID_ABI}", "-DOPENSSL_USE_STATIC_LIBS=TRUE",
                )
            }
        }
    }
    externalNativeBuild {
        cmake {
            path = file("../../../CMakeLists.txt")
            version = "3.25.1+"
        }
    }
    sourceSets["main"].java.srcDirs("../java", "src/main/java")
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_11
        targetCompatibility = JavaVersion.VERSION_11
    }
    kotlinOptions { jvmTarget = "11" }
}

dependencies {
    implementation("androidx.work:work-runtime-ktx:2.9.0")
    implementation("org.jetbrains.kotlinx:kotlinx-coroutines-android:1.8.1")
}
