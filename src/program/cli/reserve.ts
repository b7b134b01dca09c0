/** `weir reserve`: makes one step of a reservation on a running server. */

import { toByteString } from '../../domain/descriptor/byte-string';
import { LIMIT_MAX } from '../../domain/rule/limit';
import { callReservations, type ServerAddress, type SentStep } from '../../server/transport/grpc/call-server';
import { reservedJson, stepJson } from '../../server/transport/messages/reservation-answers';
import { didYouMean } from '../../lib/text/did-you-mean';
import { ASK_OPTIONS, describeFailure, readAddress, readDomain, readTls, toWireOverride } from './ask';
import { readArgs } from './read-args';
import { adviseOnEntries, readDescriptors } from './read-descriptor';
import { readOverrides } from './read-override';
import { readTimeoutMs } from './read-timeout';
import { readWhole, UsageError } from './usage-error';

export const RESERVE_USAGE = `weir reserve --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE --hits N [--ttl 60s] [--id ID]
weir reserve commit  --domain DOMAIN [--descriptor KEY=VALUE …] --id ID --hits N
weir reserve release --domain DOMAIN [--descriptor KEY=VALUE …] --id ID
weir reserve extend  --domain DOMAIN [--descriptor KEY=VALUE …] --id ID [--ttl 60s]

  --domain, --descriptor, --limit  same as for weir ask. For commit, release and extend: the descriptors of the
                      reservation, required if the domain has a hash_tag, and to charge a commit of an unknown id
  --id ID             id of the reservation; weir reserve generates one by default
  --hits N            hits to reserve, or hits used (commit)
  --ttl               how long the hits are held (default 60s)
  --address, --timeout, --tls, --ca, --cert, --key  same as for weir ask

Prints the answer in the format of /v1/reservations. Exit codes: 0 the step was made, 1 denied, no answer or an error.`;

export const RESERVE_OPTIONS = {
  ...ASK_OPTIONS,
  id: { type: 'string' },
  ttl: { type: 'string' },
} as const;

export const STEPS = ['commit', 'release', 'extend'] as const;

type Step = 'reserve' | (typeof STEPS)[number];

/**
 * Resolves to the exit code.
 *
 * @throws UsageError
 */
export async function reserve({ args }: { readonly args: readonly string[] }): Promise<number> {
  const [word = ''] = args;
  const named = STEPS.find((each) => each === word);
  const step: Step = named ?? 'reserve';
  if (named === undefined && /^\w+$/.test(word)) throw new UsageError(noStep(word));
  const command = named === undefined ? 'weir reserve' : `weir reserve ${named}`;
  const { values, tokens } = readArgs(args.slice(named === undefined ? 0 : 1), {
    command,
    usage: RESERVE_USAGE,
    options: RESERVE_OPTIONS,
    adviseOnOperand: adviseOnEntries,
  });
  const { tls = false, ca, cert, key, id = '' } = values;
  const [address, domain] = [readAddress(values.address), readDomain(values.domain)];
  if (step !== 'reserve' && id === '') throw new UsageError('--id is missing; give the id of the reservation');
  const overrides = readOverrides(tokens);
  const texts = values.descriptor ?? [];
  const entries = texts.length === 0 && step !== 'reserve' ? [] : readDescriptors('--descriptor', texts);
  const files = { ca: { name: '--ca', file: ca }, cert: { name: '--cert', file: cert }, key: { name: '--key', file: key } };
  const isTls = tls || Object.values(files).some(({ file }) => file !== undefined);
  const server = { address, timeoutMs: readTimeoutMs(values.timeout ?? '5s'), ...(isTls && { tls: readTls(files) }) };
  const sent: SentStep = {
    domain: toByteString(domain),
    descriptors: entries.map((each, index) => ({ entries: each, ...toWireOverride(overrides.get(index)) })),
    id,
    ...readHits(step, values.hits),
    ...readTtl(step, values.ttl),
  };
  try {
    return await send(step, sent, server);
  } catch (error) {
    console.error(describeFailure(error, address));
    return 1;
  }
}

function noStep(word: string): string {
  const meant = didYouMean(word, STEPS);
  const guess = meant === undefined ? '' : `did you mean ${meant}? `;
  return `weir reserve: ${JSON.stringify(word)} is not a step; ${guess}use commit, release or extend, or no step to reserve`;
}

async function send(step: Step, sent: SentStep, server: ServerAddress): Promise<number> {
  if (step === 'reserve') {
    const reserved = await callReservations('Reserve', sent, server);
    console.log(JSON.stringify(reservedJson(reserved)));
    return reserved.code === 1 ? 0 : 1;
  }
  const name = { commit: 'Commit', release: 'Release', extend: 'Extend' } as const;
  console.log(JSON.stringify(stepJson(await callReservations(name[step], sent, server))));
  return 0;
}

function readHits(step: Step, written: string | undefined): Pick<SentStep, 'hits'> {
  if (step === 'release' || step === 'extend') {
    if (written !== undefined) throw new UsageError(`weir reserve ${step} does not take --hits; remove it`);
    return {};
  }
  if (written === undefined) throw new UsageError('--hits is missing; give a number of hits');
  return { hits: String(readWhole('--hits', written, { min: step === 'reserve' ? 1 : 0, max: LIMIT_MAX, otherwise: 1 })) };
}

function readTtl(step: Step, written: string | undefined): Pick<SentStep, 'ttl'> {
  if (written === undefined) return {};
  if (step === 'commit' || step === 'release') throw new UsageError(`weir reserve ${step} does not take --ttl; remove it`);
  const ttlMs = readTimeoutMs(written, '--ttl');
  return { ttl: { seconds: Math.floor(ttlMs / 1_000), nanos: (ttlMs % 1_000) * 1_000_000 } };
}
