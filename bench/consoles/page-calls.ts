/** What the pages of the console that refresh by themselves ask of the admin API, and how often. */

export interface PageCall {
  readonly method: 'GET' | 'POST';
  readonly target: string;
  readonly everyMs: number;
  readonly body?: string;
}

export interface ConsolePageCalls {
  readonly name: string;
  /** After `#/`. */
  readonly address: string;
  readonly calls: readonly PageCall[];
}

export interface Looked {
  readonly domain: string;
  readonly key: string;
  readonly value: string;
}

/** Five pages, as five people have them open; one of them looks at a descriptor. */
export function pageCallsOf({ domain, key, value }: Looked): readonly ConsolePageCalls[] {
  const get = (target: string, everyMs: number): PageCall => ({ method: 'GET', target, everyMs });
  const explained = JSON.stringify({ domain, descriptors: [{ entries: [{ key, value }] }] });
  return [
    {
      name: 'Overview',
      address: '',
      calls: [
        get('/v1/live?rules=20', 5_000),
        get('/v1/instances', 10_000),
        get('/v1/rules?limit=1', 10_000),
        get('/v1/history/keys?question=denied&count=6', 30_000),
      ],
    },
    {
      name: 'Who is limited',
      address: 'limited',
      calls: [get('/v1/top?question=denied&minutes=10&count=50', 5_000), get('/v1/history/keys?question=denied&count=100', 30_000)],
    },
    {
      name: 'Tenant',
      address: `tenant?domain=${domain}&entries=${encodeURIComponent(`${key}=${value}`)}`,
      calls: [
        { method: 'POST', target: '/v1/explain', everyMs: 5_000, body: explained },
        ...['asked', 'denied'].map((question) =>
          get(`/v1/history/keys?question=${question}&domain=${domain}&entries=${encodeURIComponent(`${key}=${value}`)}`, 30_000),
        ),
        ...[1, 10, 60].map((minutes) => get(`/v1/top?question=denied&minutes=${minutes}&count=100&domain=${domain}`, 10_000)),
      ],
    },
    { name: 'Rules', address: 'rules', calls: [get('/v1/live?rules=10000', 10_000), get('/v1/history/rules?count=200', 30_000)] },
    { name: 'Instances', address: 'instances', calls: [get('/v1/instances', 5_000), get('/v1/history/instances', 30_000)] },
  ];
}
