/** What callers try in order to escape a limit: other spellings of a path, and headers that they invent, double and misspell. */
import type { RawRequest } from '../../support/clients/raw-request';

type Header = readonly [string, string];

/** Headers in which proxies, and Envoy itself, write who a caller is. */
const OF_PROXIES = [
  'x-forwarded-for',
  'x-real-ip',
  'forwarded',
  'true-client-ip',
  'cf-connecting-ip',
  'x-client-ip',
  'x-envoy-external-address',
  'x-envoy-original-path',
  'x-original-url',
  'x-rewrite-url',
  'x-forwarded-client-cert',
  'x-forwarded-host',
  'x-envoy-internal',
  'x-request-id',
];

/** Headers under the names that the example reads or writes itself; `others` are values that count for somebody else. */
function forgedHeaders(names: readonly string[], others: readonly string[]): readonly (readonly Header[])[] {
  return [
    ...names.flatMap((name): Header[][] => [
      ...others.map((other): Header[] => [[name, other]]),
      [[name, '']],
      [[name, 'invented, 127.0.0.9']],
      [[name, ' Invented\t']],
      [[name, 'h\xe9llo \xff\x80']],
      [[name.toUpperCase(), 'INVENTED']],
      [
        [name, 'invented-1'],
        [name, 'invented-2'],
      ],
      [
        [name.toUpperCase(), ''],
        [name, '%DOWNSTREAM_REMOTE_ADDRESS%'],
      ],
      [[name, 'x'.repeat(4000)]],
    ]),
    ...OF_PROXIES.flatMap((name) => others.map((other): Header[] => [[name, other]])),
    [
      ['x-forwarded-for', '203.0.113.8'],
      ['X-Forwarded-For', '203.0.113.9, 127.0.0.1'],
    ],
    [['x-http-method-override', 'OPTIONS']],
  ];
}

/** Other ways to write the path. */
function spellings(path: string): readonly string[] {
  const [first = '', ...rest] = path.slice(1);
  const encoded = `/%${first.charCodeAt(0).toString(16)}${rest.join('')}`;
  return [
    `/${path}`,
    `//${path}`,
    `/.${path}`,
    `/./${path}`,
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/x/%2E%2E${path}`,
    `/x%2f..${path}`,
    `/%2f${path}`,
    `${path}/`,
    `${path}//`,
    `${path}/.`,
    `${path}/%2e`,
    `${path}%2f`,
    `${path}%2F..${path}`,
    `${path}?x=1`,
    `${path}?${path}`,
    `${path};a=b`,
    `${path};jsessionid=1/x`,
    `${path}%3ba=b`,
    `${path}%20`,
    `${path}%00`,
    `${path}#x`,
    `${path}\\..${path}`,
    `\\${path}`,
    encoded,
    encoded.toUpperCase(),
    path.toUpperCase(),
    `http://other.example.com${path}`,
    `${path}/..`,
  ];
}

export interface Forgery {
  readonly names: readonly string[];
  readonly others: readonly string[];
}

/** The same request, in each of these ways. */
export function attacksOn(request: RawRequest, { names, others }: Forgery): readonly RawRequest[] {
  const [path = '', query] = request.target.split('?');
  const suffix = query === undefined ? '' : `?${query}`;
  const own = request.headers ?? [];
  const forged = forgedHeaders(names, others);
  return [
    ...spellings(path).map((target) => ({ ...request, target: target.includes('?') ? target : target + suffix })),
    ...forged.map((headers) => ({ ...request, headers: [...own, ...headers] })),
    // The first of two is the one that some programs take.
    ...forged.slice(0, names.length * (others.length + 7)).map((headers) => ({ ...request, headers: [...headers, ...own] })),
  ];
}
