/** Chooses where events go, if anywhere, and reads their secrets. */

import { readFileSync } from 'node:fs';
import { asError } from '../../lib/errors';
import { hashingOf, type Hashing } from './decision-log-choice';
import type { Settings } from './table/settings';
import { SettingsError } from './table/settings-error';

export interface EventChoice {
  readonly url: string;
  /** As written: the present one, and perhaps the one before. */
  readonly secrets: readonly string[];
  /** The same values as in the decision log are hashed. Undefined: none. */
  readonly hashing: Hashing | undefined;
}

/** A shorter secret could be found by trying all; Standard Webhooks has the same bound. */
const SECRET_BYTES_MIN = 24;
const SECRETS_MAX = 2;

const BASE64 = /^whsec_[A-Za-z0-9+/]+={0,2}$/;

/** Undefined: no setting asks for events. Throws SettingsError for a missing or bad secret. */
export function chooseEvents(settings: Settings): EventChoice | undefined {
  const { eventsUrl: url, eventsSecretFile: file } = settings;
  if (url === undefined) {
    if (file !== undefined) throw problem('EVENTS_SECRET_FILE', 'it has no effect without EVENTS_URL; set both, or none');
    return undefined;
  }
  if (!URL.canParse(url)) throw problem('EVENTS_URL', 'it is not a URL; use one such as https://hooks.example/weir');
  if (file === undefined) throw problem('EVENTS_URL', 'events need a secret; set EVENTS_SECRET_FILE');
  return { url, secrets: readSecrets(file), hashing: hashingOf(settings) };
}

function readSecrets(file: string): readonly string[] {
  const secrets = readSecretFile(file)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  if (secrets.length === 0 || secrets.length > SECRETS_MAX)
    throw problem('EVENTS_SECRET_FILE', `${file} has ${secrets.length} secrets; write one, or two while it is changed, one a line`);
  for (const secret of secrets) {
    if (secret.startsWith('whsec_') && !BASE64.test(secret))
      throw problem('EVENTS_SECRET_FILE', 'a secret is not Base64 after whsec_; write it as the program that made it');
    const bytes = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64').length : Buffer.byteLength(secret);
    if (bytes < SECRET_BYTES_MIN)
      throw problem(
        'EVENTS_SECRET_FILE',
        `a secret has fewer than ${SECRET_BYTES_MIN} bytes; use more, such as those of openssl rand -hex 32`,
      );
  }
  return secrets;
}

function readSecretFile(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw problem('EVENTS_SECRET_FILE', `${file} cannot be read: ${asError(error).message}`);
  }
}

function problem(name: string, message: string): SettingsError {
  return new SettingsError([{ name, message }]);
}
