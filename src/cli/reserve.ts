/** `weir reserve`: one step of a reservation, asked of a running server. */

import { parseArgs } from 'node:util';
import { toByteString } from '../descriptor/byte-string';
import { asError } from '../errors';
import { UINT32_MAX } from '../rule/limit';
import { callReservations, type ServerAddress, type SentStep } from '../transport/call-server';
import { reservedJson, stepJson } from '../transport/reservation/reservation-routes';
import { ADDRESS_DEFAULT, ASK_OPTIONS, adviseOn, readTimeoutMs, readTls, toWireOverride } from './ask';
import { readDescriptors } from './read-descriptor';
import { readOverrides } from './read-override';
import { readWhole, UsageError } from './usage-error';

export const RESERVE_USAGE = `weir reserve --domain DOMAIN --descriptor KEY=VALUE,KEY=VALUE --hits N [--ttl 60s] [--id ID]
weir reserve commit  --domain DOMAIN [--descriptor KEY=VALUE …] --id ID --hits N
weir reserve release --domain DOMAIN [--descriptor KEY=VALUE …] --id ID
weir reserve extend  --domain DOMAIN [--descriptor KEY=VALUE …] --id ID [--ttl 60s]

  --domain, --descriptor, --limit  as of weir ask. Of commit, release and extend the descriptors of the reservation: needed where the
                      domain has a hash_tag, and to charge a commit whose reservation is not known
  --id ID             of the reservation; weir reserve makes one up without it
  --hits N            to reserve, or that were used
  --ttl               how long they are held (default 60s)
  --address, --timeout, --tls, --ca, --cert, --key  as of weir ask

Prints the answer as /v1/reservations does; exits with 1 if there is none, or if the reservation is denied.`;

export const RESERVE_OPTIONS = {
  ...ASK_OPTIONS,
  id: { type: 'string' },
  ttl: { type: 'string' },
} as const;

const STEPS = ['commit', 'release', 'extend'] as const;

type Step = 'reserve' | (typeof STEPS)[number];

/**
 * Resolves with the exit code.
 *
 * @throws UsageError
 */
export async function reserve({ args }: { readonly args: readonly string[] }): Promise<number> {
  const [word = ''] = args;
  const named = STEPS.find((each) => each === word);
  const step: Step = named ?? 'reserve';
  const { values, tokens } = parseArgs({ args: args.slice(named === undefined ? 0 : 1), options: RESERVE_OPTIONS, tokens: true });
  const { address = ADDRESS_DEFAULT, domain = '', tls = false, ca, cert, key, id = '' } = values;
  if (step !== 'reserve' && id === '') throw new UsageError('--id is missing; give that of the reservation');
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
    console.error(`no answer from ${address}: ${adviseOn(asError(error).message)}`);
    return 1;
  }
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
    if (written !== undefined) throw new UsageError(`--hits has no meaning for weir reserve ${step}; leave it out`);
    return {};
  }
  if (written === undefined) throw new UsageError('--hits is missing; give a number of hits');
  return { hits: String(readWhole('--hits', written, { min: step === 'reserve' ? 1 : 0, max: UINT32_MAX, otherwise: 1 })) };
}

function readTtl(step: Step, written: string | undefined): Pick<SentStep, 'ttl'> {
  if (written === undefined) return {};
  if (step === 'commit' || step === 'release') throw new UsageError(`--ttl has no meaning for weir reserve ${step}; leave it out`);
  const ttlMs = readTimeoutMs(written, '--ttl');
  return { ttl: { seconds: Math.floor(ttlMs / 1_000), nanos: (ttlMs % 1_000) * 1_000_000 } };
}
