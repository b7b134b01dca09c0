/** What is longest in a Redis, and how much it has: of strings, fields, members and entries. */
import { createClient } from '@redis/client';

type Client = ReturnType<typeof createClient>;

const AT_ONCE = 1_000;

export interface LongestInRedis {
  readonly key: string;
  readonly value: { readonly bytes: number; readonly of: string };
}

/** Of the keys that `isMeant` selects. */
export function longestIn(port: number, isMeant: (key: string) => boolean): Promise<LongestInRedis> {
  return withClient(port, async (client) => {
    let [key, value] = ['', { bytes: 0, of: '' }];
    for await (const keys of client.scanIterator({ COUNT: AT_ONCE })) {
      for (const each of keys.filter(isMeant)) {
        if (each.length > key.length) key = each;
        // What Redis itself needs for the whole key bounds each of its values.
        if (((await client.memoryUsage(each)) ?? 0) <= value.bytes) continue;
        const bytes = await longestOf(client, each);
        if (bytes > value.bytes) value = { bytes, of: each };
      }
    }
    return { key, value };
  });
}

/** All that Redis has allocated. */
export function usedInRedis(port: number): Promise<number> {
  return withClient(port, async (client) => Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1] ?? 0));
}

async function withClient<Found>(port: number, look: (client: Client) => Promise<Found>): Promise<Found> {
  const client: Client = createClient({ url: `redis://127.0.0.1:${port}` });
  await client.connect();
  try {
    return await look(client);
  } finally {
    client.destroy();
  }
}

async function longestOf(client: Client, key: string): Promise<number> {
  const lengths = (texts: readonly string[]) => texts.reduce((most, text) => Math.max(most, Buffer.byteLength(text)), 0);
  const type = await client.type(key);
  if (type === 'string') return client.strLen(key);
  if (type === 'hash') return lengths(Object.entries(await client.hGetAll(key)).flat());
  if (type === 'zset') return lengths(await client.zRange(key, 0, -1));
  if (type === 'stream')
    return lengths(((await client.xRange(key, '-', '+')) ?? []).flatMap(({ message }) => Object.entries(message).flat()));
  throw new Error(`${key} is a ${type}`);
}
