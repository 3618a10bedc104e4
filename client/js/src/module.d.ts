// build/wasm/bin/coppice_device.wasm in base64, which build.mjs puts into the bundle.
declare module 'coppice-device-module' {
  const base64: string;
  export default base64;
}
