// What the module's wasm_crypto.cc imports: random bytes of the browser or of Node, and @noble's functions.

import {gcm} from '@noble/ciphers/aes';
import {chacha20poly1305} from '@noble/ciphers/chacha';
import {ed25519, x25519} from '@noble/curves/ed25519';
import {sha256} from '@noble/hashes/sha2';

/** Fills it with random bytes, or throws. */
export type RandomSource = (to: Uint8Array) => void;

const MOST_AT_ONCE = 65_536; // getRandomValues() refuses more

/** The one source of random bytes. Nothing is drawn ahead, and where it is missing there is no other. */
export async function systemRandom(): Promise<RandomSource> {
  // Node 18 has it without naming it globally.
  const source = globalThis.crypto ?? (await import('node:crypto')).webcrypto;
  return to => {
    for (let at = 0; at < to.length; at += MOST_AT_ONCE) source.getRandomValues(to.subarray(at, at + MOST_AT_ONCE));
  };
}

const AES_128_GCM = 1; // RFC 9180, section 7.3; the other one is ChaCha20-Poly1305

function cipher(aead: number, key: Uint8Array, nonce: Uint8Array, aad: Uint8Array) {
  return aead === AES_128_GCM ? gcm(key, nonce, aad) : chacha20poly1305(key, nonce, aad);
}

/**
 * The imports. `bytes(at, size)` is the module's memory there, and is taken anew for each use, as the memory may grow.
 * noble works on copies: it must not see bytes that change.
 */
export function cryptoImports(bytes: (at: number, size: number) => Uint8Array, random: RandomSource) {
  const read = (at: number, size: number) => bytes(at, size).slice();
  const write = (at: number, value: Uint8Array) => bytes(at, value.length).set(value);
  return {
    random: (to: number, size: number) => random(bytes(to, size)),
    sha256: (from: number, size: number, to: number) => write(to, sha256(read(from, size))),
    ed25519_public_key: (seed: number, to: number) => write(to, ed25519.getPublicKey(read(seed, 32))),
    ed25519_sign: (seed: number, message: number, size: number, to: number) =>
      write(to, ed25519.sign(read(message, size), read(seed, 32))),
    // As RFC 8032 has it, and as OpenSSL does: no point in another than its one form is taken.
    ed25519_verify: (key: number, message: number, size: number, signature: number): number => {
      try {
        return ed25519.verify(read(signature, 64), read(message, size), read(key, 32), {zip215: false}) ? 1 : 0;
      } catch {
        return 0; // no point of the curve
      }
    },
    x25519_public_key: (secret: number, to: number) => write(to, x25519.getPublicKey(read(secret, 32))),
    x25519_agree: (secret: number, peer: number, to: number): number => {
      try {
        write(to, x25519.getSharedSecret(read(secret, 32), read(peer, 32)));
        return 1;
      } catch {
        return 0; // a point of small order
      }
    },
    aead_seal: (aead: number, key: number, nonce: number, aad: number, aadSize: number, plain: number, size: number, to: number) =>
      write(to, cipher(aead, read(key, aead === AES_128_GCM ? 16 : 32), read(nonce, 12), read(aad, aadSize))
        .encrypt(read(plain, size))),
    aead_open: (aead: number, key: number, nonce: number, aad: number, aadSize: number, sealed: number, size: number, to: number): number => {
      try {
        write(to, cipher(aead, read(key, aead === AES_128_GCM ? 16 : 32), read(nonce, 12), read(aad, aadSize))
          .decrypt(read(sealed, size)));
        return 1;
      } catch {
        return 0; // the tag is wrong
      }
    },
  };
}
