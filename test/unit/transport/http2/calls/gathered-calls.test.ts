/** Calls of one socket read become one call of the store, and each gets its own answer. */

import type { RateLimitRequest } from '../../../../../src/domain/descriptor/descriptor';
import type { Answer, ReadRequest } from '../../../../../src/server/transport/answer';
import { GATHERED_MAX, GatheredCalls } from '../../../../../src/server/transport/http2/calls/gathered-calls';

const ANSWERED: Answer = { failure: { kind: 'unavailable', message: 'no' } };

function requestOf(domain: string): RateLimitRequest {
  return { domain, descriptors: [], hits: 1 };
}

function fail(error: unknown): never {
  throw error;
}

function gatherer() {
  const questions: { readonly asked: readonly ReadRequest[]; readonly timeoutMs: number | undefined }[] = [];
  const told: string[] = [];
  const calls = new GatheredCalls(
    (asked, { timeoutMs }) => {
      questions.push({ asked, timeoutMs });
      return Promise.resolve(
        asked.map((request) => ({ failure: { kind: 'unavailable', message: 'domain' in request ? request.domain : '' } })),
      );
    },
    () => 5,
  );
  const add = (domain: string, timeoutMs?: number) => {
    calls.add(
      {
        requestTrace: undefined,
        onAnswer: (answer, nowMs) => {
          if (domain === 'deaf') throw new Error('not heard');
          told.push(answer !== undefined && 'failure' in answer ? `${domain}: ${answer.failure.message} at ${nowMs}` : '-');
        },
        onFault: (error) => told.push(`${domain}: ${String(error)}`),
      },
      requestOf(domain),
      timeoutMs,
    );
  };
  return { calls, add, questions, told };
}

test('gathered calls are one call of the store, and each gets its own answer', async () => {
  const { calls, add, questions, told } = gatherer();
  for (const domain of ['a', 'b', 'c']) add(domain, 20);
  expect(questions).toEqual([]);
  calls.send();
  calls.send();
  expect(questions).toEqual([{ asked: ['a', 'b', 'c'].map(requestOf), timeoutMs: 20 }]);
  await Promise.resolve();
  await Promise.resolve();
  expect(told).toEqual(['a: a at 5', 'b: b at 5', 'c: c at 5']);
});

test('calls with different deadlines are sent separately', () => {
  const { calls, add, questions } = gatherer();
  add('a');
  add('b', 20);
  add('c', 20);
  add('d');
  calls.send();
  expect(questions.map(({ asked, timeoutMs }) => [asked.length, timeoutMs])).toEqual([
    [1, undefined],
    [2, 20],
    [1, undefined],
  ]);
});

test('a full batch is sent at once', () => {
  const { calls, add, questions } = gatherer();
  for (let i = 0; i < 2 * GATHERED_MAX + 1; i += 1) add(`${i}`);
  expect(questions.map(({ asked }) => asked.length)).toEqual([GATHERED_MAX, GATHERED_MAX]);
  calls.send();
  expect(questions[2]!.asked).toEqual([requestOf(`${2 * GATHERED_MAX}`)]);
});

test('a call that was forgotten gets an error', async () => {
  const calls = new GatheredCalls(
    () => Promise.resolve([ANSWERED]),
    () => 5,
  );
  const told: (Answer | undefined)[] = [];
  for (let i = 0; i < 2; i += 1)
    calls.add({ requestTrace: undefined, onAnswer: (answer) => told.push(answer), onFault: fail }, requestOf('a'), undefined);
  calls.send();
  await Promise.resolve();
  await Promise.resolve();
  expect(told).toEqual([ANSWERED, undefined]);
});

test('an answer that cannot be sent does not stop the others', async () => {
  const { calls, add, told } = gatherer();
  for (const domain of ['a', 'deaf', 'c']) add(domain);
  calls.send();
  await Promise.resolve();
  await Promise.resolve();
  expect(told).toEqual(['a: a at 5', 'deaf: Error: not heard', 'c: c at 5']);
});
