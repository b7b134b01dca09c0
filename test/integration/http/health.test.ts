/** The gRPC health service answers Check and Watch for the names "" and ratelimit. */

import { status, type Client, type ClientReadableStream } from '@grpc/grpc-js';
import { WATCHES_MAX } from '../../../src/server/transport/grpc/grpc-health';
import { Harness, proto, TRANSPORTS, unary } from '../../support/servers/transport-harness';

interface Status {
  status: number;
}

const SERVING = 1;
const NOT_SERVING = 2;
const SERVICE_UNKNOWN = 3;

describe.each(TRANSPORTS)('health over gRPC (%s)', (transport) => {
  let harness: Harness;
  let client: Client;

  beforeEach(async () => {
    harness = await Harness.start(transport);
    client = harness.client();
  });

  afterEach(() => harness.stop());

  function call(method: 'Check' | 'List', request: object): Promise<object> {
    const { path, requestSerialize, responseDeserialize } = proto.health[method]!;
    return unary({ client, path, request, serialize: requestSerialize, deserialize: responseDeserialize });
  }

  function watch(service: string): ClientReadableStream<Status> {
    const { path, requestSerialize, responseDeserialize } = proto.health.Watch!;
    return client.makeServerStreamRequest(path, requestSerialize, (bytes) => responseDeserialize(bytes) as Status, { service });
  }

  function next(stream: ClientReadableStream<Status>): Promise<number> {
    return new Promise((resolve, reject) => {
      stream.once('data', ({ status: value }: Status) => {
        resolve(value);
      });
      stream.once('error', reject);
    });
  }

  it.each(['', 'ratelimit'])('Check answers for "%s"', async (service) => {
    await expect(call('Check', { service })).resolves.toEqual({ status: SERVING });
    harness.health.startDrain();
    await expect(call('Check', { service })).resolves.toEqual({ status: NOT_SERVING });
  });

  it('health stays SERVING while degraded', async () => {
    harness.health.degrade('degraded: redis');
    await expect(call('Check', {})).resolves.toEqual({ status: SERVING });
  });

  it('Check answers NOT_FOUND for another name', async () => {
    await expect(call('Check', { service: 'redis' })).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it('List has both names', async () => {
    await expect(call('List', {})).resolves.toEqual({ statuses: { '': { status: SERVING }, ratelimit: { status: SERVING } } });
  });

  it('Watch sends the state at once, then its change, then the end at a drain', async () => {
    const stream = watch('ratelimit');
    expect(await next(stream)).toBe(SERVING);
    const changed = next(stream);
    const ended = new Promise((resolve) => stream.once('end', resolve));
    const drained = harness.server.drain({ timeoutMs: 10_000 });
    expect(await changed).toBe(NOT_SERVING);
    await ended;
    await drained;
  });

  it('Watch sends SERVICE_UNKNOWN for an unknown name and keeps the stream', async () => {
    const stream = watch('redis');
    stream.on('error', () => undefined);
    expect(await next(stream)).toBe(SERVICE_UNKNOWN);
    stream.cancel();
  });

  it('the server bounds the watches, and accepts new ones after clients have gone', async () => {
    const streams = Array.from({ length: WATCHES_MAX }, () => watch(''));
    // A connection may have a bound of its own, below or at that one.
    client = harness.client();
    await Promise.all(streams.map(next));
    await expect(next(watch(''))).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    const gone = streams.map((stream) => new Promise((resolve) => stream.once('error', resolve)));
    for (const stream of streams) stream.cancel();
    await Promise.all(gone);
    // The server hears of it a moment later than the client.
    await expect(eventually(() => next(watch('')))).resolves.toBe(SERVING);
  });
});

/** The first success of at most 100 attempts. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let left = 99; left > 0; left -= 1) {
    const result = await attempt().then(
      (value) => ({ value }),
      () => undefined,
    );
    if (result !== undefined) return result.value;
  }
  return attempt();
}
