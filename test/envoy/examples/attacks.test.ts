/** Nobody escapes a limit of a published Envoy configuration by other spellings or forged headers, or uses up another's. */
import type { RawRequest } from '../../support/clients/raw-request';
import { attacksOn } from './attacks';
import { startExamples, type ExampleGateway } from './example-gateway';
import { EXAMPLES, WEAKENED } from './examples';
import { ACTION_TARGETS } from './action-targets';
import { OTHER_TARGETS } from './other-targets';
import type { Caller, Target } from './target';

const MINUTE_MS = 60_000;

let gateway: ExampleGateway;

beforeAll(async () => {
  gateway = await startExamples([...EXAMPLES, ...WEAKENED]);
});

afterAll(async () => {
  await gateway.stop();
});

/** Sends them one after the other, and resolves to those that reached the backend. */
async function passed(
  { example, settlesAfter }: Pick<Target, 'example' | 'settlesAfter'>,
  requests: readonly RawRequest[],
): Promise<readonly string[]> {
  const escaped: string[] = [];
  const callsBefore = settlesAfter !== undefined ? await gateway.answeredCalls(example) : 0;
  for (const [index, request] of requests.entries()) {
    const before = gateway.backendRequests();
    await gateway.send(example, request);
    if (settlesAfter !== undefined) await gateway.answeredCallsReach(example, callsBefore + settlesAfter * (index + 1));
    if (gateway.backendRequests() > before) escaped.push(describeRequest(request));
  }
  return escaped;
}

function describeRequest({ method = 'GET', target, headers = [] }: RawRequest): string {
  return `${method} ${target} ${JSON.stringify(headers)}`;
}

describe.each([...ACTION_TARGETS, ...OTHER_TARGETS].map((target, index) => ({ ...target, index })))(
  '$example, by $by',
  (target: Target & { index: number }) => {
    const attacker: Caller = { name: `attacker-${target.index}`, address: `127.30.${target.index}.1` };
    const victim: Caller = { name: `victim-${target.index}`, address: `127.30.${target.index}.2` };
    const { example, passes, total = passes, perMinute = 0, left = perMinute } = target;

    test('no attack gets a request more than the limit to the backend, nor takes from another caller', async () => {
      const start = performance.now();
      const honest = target.request(attacker);
      expect(
        await passed(
          target,
          Array.from({ length: passes }, () => honest),
        ),
      ).toHaveLength(passes);
      expect(await gateway.remaining(example, target.descriptor(attacker))).toBeLessThanOrEqual(left);
      const others = await gateway.remaining(example, target.descriptor(victim));

      const forgery = { names: target.forged ?? [], others: [victim.address, victim.name] };
      const further = target.alsoAs?.(honest) ?? [];
      const escaped = await passed({ example }, [honest, ...further, ...attacksOn(honest, forgery)]);
      const refilled = Math.ceil((perMinute * (performance.now() - start)) / MINUTE_MS);
      if (total === passes && refilled === 0) expect(escaped).toEqual([]);
      expect(escaped.length).toBeLessThanOrEqual(total - passes + refilled);

      expect(await gateway.remaining(example, target.descriptor(victim))).toBe(others);
      expect(await passed({ example }, [target.request(victim)])).toHaveLength(1);
    });
  },
);

test.each([
  ['weak-header', '/payment', ['x-client']],
  ['weak-address', '/exact', []],
  ['weak-default', '/search', ['x-app']],
])('the same attacks escape from a configuration without its protection: %s', async (example, target, names) => {
  const request = { from: '127.31.0.1', target };
  // More than each of these limits.
  await passed(
    { example },
    Array.from({ length: 12 }, () => request),
  );
  const escaped = await passed({ example }, attacksOn(request, { names, others: ['127.31.0.2', 'victim'] }));
  expect(escaped.length).toBeGreaterThan(1);
});

// After all requests above, those of attackers included.
test.each(EXAMPLES.map(({ id }) => id))('the rules of %s know every descriptor that its Envoy sends', async (id) => {
  expect(await gateway.unmatched(id)).toBe(0);
});
