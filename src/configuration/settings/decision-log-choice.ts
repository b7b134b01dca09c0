/** Chooses the decision log, if any, and reads the secret of its hashes. */

import { readFileSync } from 'node:fs';
import { asError } from '../../lib/errors';
import type { DecisionLogPlace } from './table/decision-log-settings';
import type { Settings } from './table/settings';
import { SettingsError } from './table/settings-error';

export interface DecisionLogChoice {
  readonly place: Exclude<DecisionLogPlace, 'off'>;
  /** Undefined: no value is hashed. */
  readonly hashing: Hashing | undefined;
}

export interface Hashing {
  /** Keys of entries whose values are hashed; `*`: all. */
  readonly keys: readonly string[];
  readonly secret: string;
}

/** A shorter secret could be found by trying all. */
const SECRET_BYTES_MIN = 16;

/** Undefined: it is off. Throws SettingsError for hashes without a good secret. */
export function chooseDecisionLog(settings: Settings): DecisionLogChoice | undefined {
  const { decisionLog: place } = settings;
  if (place === 'off') return undefined;
  return { place, hashing: hashingOf(settings) };
}

/** Undefined: no value is hashed. Throws SettingsError for hashes without a good secret. */
export function hashingOf(settings: Settings): Hashing | undefined {
  const { decisionLogHashKeys: keys } = settings;
  return keys === undefined ? undefined : { keys, secret: secretOf(settings) };
}

function secretOf({ decisionLogHashSecret: given, decisionLogHashSecretFile: file }: Settings): string {
  if (given !== undefined && file !== undefined)
    throw problem('DECISION_LOG_HASH_SECRET', 'DECISION_LOG_HASH_SECRET_FILE is set too; set only one of them');
  if (given === undefined && file === undefined)
    throw problem('DECISION_LOG_HASH_KEYS', 'hashes need a secret; set DECISION_LOG_HASH_SECRET or DECISION_LOG_HASH_SECRET_FILE');
  const name = file === undefined ? 'DECISION_LOG_HASH_SECRET' : 'DECISION_LOG_HASH_SECRET_FILE';
  const secret = file === undefined ? (given ?? '') : readSecret(file);
  if (Buffer.byteLength(secret) < SECRET_BYTES_MIN)
    throw problem(name, `the secret has fewer than ${SECRET_BYTES_MIN} bytes; use more, such as those of openssl rand -hex 32`);
  return secret;
}

function readSecret(file: string): string {
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw problem('DECISION_LOG_HASH_SECRET_FILE', `${file} cannot be read: ${asError(error).message}`);
  }
}

function problem(name: string, message: string): SettingsError {
  return new SettingsError([{ name, message }]);
}
