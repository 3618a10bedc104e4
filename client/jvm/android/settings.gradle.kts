// Builds the module by itself. An app includes it from its own settings:
//   include(":coppice-device")
//   project(":coppice-device").projectDir = file("path/to/coppice/client/jvm/android")
pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}
dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}
rootProject.name = "coppice-device"
