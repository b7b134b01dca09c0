/** Gets credentials of Redis for the identity of this process from AWS or Azure. Loaded only with a setting that asks for it. */

import type { RedisIdentity } from '../../../configuration/settings/redis/redis-auth';
import { Backoff } from '../../../lib/backoff';
import { monotonicNowMs, readTimeout } from '../../../lib/clock';
import { asError } from '../../../lib/errors';
import type { RedisCredentials } from '../../../state/store/redis/client/redis-connection';
import { keepAuthenticated, type MintToken, type OnRenewal, type Token } from '../../../state/store/redis/credentials/keep-authenticated';

const WAIT_MS_MAX = 10_000;

/** A token has about 3,000. */
const CHARACTERS_MAX = 65_536;

/** After a failure all connections wait: there may be many, and each dials again after a second. */
const PAUSE = { maxMs: 5_000, factor: 2, random: Math.random };
const PAUSE_MS_FIRST = 200;

/** Most characters of a package's message in the log. */
const WORDS_MAX = 200;

const NAMES: Readonly<Record<RedisIdentity['kind'], string>> = { aws: 'AWS IAM', entra: 'Microsoft Entra ID' };

/** Credentials of one connection, each time. */
export type Identity = (onRenewal: OnRenewal) => Promise<RedisCredentials>;

interface OpenIdentityOptions {
  /** The longest wait for a token, in milliseconds. */
  readonly waitMs?: number;
}

/** For all connections to one Redis. */
export function openIdentity(identity: RedisIdentity, { waitMs = WAIT_MS_MAX }: OpenIdentityOptions = {}): Identity {
  const mint = mintFor(identity, waitMs);
  return async (onRenewal) => {
    const { renewAfterMs, ...credentials } = await mint({ isRenewal: false });
    return { ...credentials, keep: (send) => keepAuthenticated({ mint, onRenewal, renewAfterMs, send }) };
  };
}

function mintFor(identity: RedisIdentity, waitMs: number): MintToken {
  const pause = new Backoff(PAUSE);
  let signer: Promise<MintToken> | undefined;
  let failed: { readonly error: Error; readonly untilMs: number } | undefined;
  return async (options) => {
    if (failed !== undefined && monotonicNowMs() < failed.untilMs) throw failed.error;
    try {
      signer ??= loadSigner(identity);
      const token = checkLength(
        await inTime(
          signer.then((mint) => mint(options)),
          waitMs,
        ),
      );
      failed = undefined;
      pause.reset();
      return token;
    } catch (cause) {
      // It may wait for an answer that never comes, and would again.
      signer = undefined;
      const error = new Error(`no credentials from ${NAMES[identity.kind]}: ${describe(cause)}`);
      failed = { error, untilMs: monotonicNowMs() + pause.nextMs(PAUSE_MS_FIRST) };
      throw error;
    }
  };
}

async function loadSigner(identity: RedisIdentity): Promise<MintToken> {
  if (identity.kind === 'aws') {
    const { openAwsIam } = await import('../../../state/store/redis/credentials/open-aws-iam.js');
    return openAwsIam(identity);
  }
  const { openEntraId } = await import('../../../state/store/redis/credentials/open-entra-id.js');
  return openEntraId(identity);
}

function checkLength(token: Token): Token {
  const { length } = token.password;
  if (length > CHARACTERS_MAX) throw new Error(`a token of ${length} characters, where at most ${CHARACTERS_MAX} are possible`);
  return token;
}

async function inTime(token: Promise<Token>, waitMs: number): Promise<Token> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = readTimeout(waitMs, () => {
      reject(new Error(`nothing within ${waitMs} ms`));
    });
  });
  try {
    return await Promise.race([token, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * In one line, without what is quoted: the message of a parser repeats what it read, which may be a part of a secret. Nor with words of
 * the length of a token.
 */
function describe(error: unknown): string {
  return asError(error)
    .message.replace(/\s+/g, ' ')
    .replace(/".*"/, '"…"')
    .replace(/\S{100,}/g, '…')
    .slice(0, WORDS_MAX);
}
