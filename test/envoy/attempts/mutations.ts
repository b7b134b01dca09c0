/** What callers change about a request in order not to be counted: spelling, doubles, order, framing, and when they hang up. */
import { randomFrom, type Random } from '../../support/random/random';
import type { Attempt } from './attempt';

type Field = readonly [string, string];

/** What a mutation may use. */
export interface Means {
  readonly random: Random;
  /** Headers that a configuration reads or writes. */
  readonly names: readonly string[];
  /** Values that count for somebody else. */
  readonly others: readonly string[];
}

type Mutation = (attempt: Attempt, means: Means) => Attempt;

function pick<Item>(items: readonly Item[], random: Random): Item {
  return items[random(items.length)]!;
}

function inPath(change: (path: string, random: Random) => string): Mutation {
  return (attempt, { random }) => {
    const [path = '', ...query] = attempt.target.split('?');
    return { ...attempt, target: [change(path, random), ...query].join('?') };
  };
}

/** A character of the path other than a slash, by its place. */
function atCharacter(change: (character: string, random: Random) => string): Mutation {
  return inPath((path, random) => {
    const places = Array.from(path, (_, place) => place).filter((place) => path[place] !== '/');
    if (places.length === 0) return path;
    const at = pick(places, random);
    return `${path.slice(0, at)}${change(path[at] ?? '', random)}${path.slice(at + 1)}`;
  });
}

/** At the begin of a segment. */
function beforeSegment(texts: readonly string[]): Mutation {
  return inPath((path, random) => {
    const slashes = Array.from(path, (_, place) => place).filter((place) => path[place] === '/');
    const at = slashes.length === 0 ? 0 : pick(slashes, random);
    return `${path.slice(0, at)}${pick(texts, random)}${path.slice(at)}`;
  });
}

function afterPath(texts: readonly string[]): Mutation {
  return inPath((path, random) => `${path}${pick(texts, random)}`);
}

function inQuery(change: (parameters: readonly string[], random: Random, names: readonly string[]) => readonly string[]): Mutation {
  return (attempt, { random, names }) => {
    const [path = '', query = ''] = attempt.target.split(/\?(.*)/s);
    return {
      ...attempt,
      target: `${path}?${change(query === '' ? [] : query.split('&'), random, names).join(pick(['&', '&', ';', '&&'], random))}`,
    };
  };
}

/** One of the headers, in place of itself: none, one or several. */
function atHeader(change: (field: Field, means: Means) => readonly Field[]): Mutation {
  return (attempt, means) => {
    const at = means.random(attempt.headers.length);
    return { ...attempt, headers: attempt.headers.flatMap((field, index) => (index === at ? change(field, means) : [field])) };
  };
}

function withHeaders(choose: (means: Means) => readonly Field[]): Mutation {
  return (attempt, means) => {
    const added = choose(means);
    return { ...attempt, headers: means.random(2) === 0 ? [...attempt.headers, ...added] : [...added, ...attempt.headers] };
  };
}

function without(attempt: Attempt, ...names: readonly string[]): Attempt {
  return { ...attempt, headers: attempt.headers.filter(([name]) => !names.includes(name.toLowerCase())) };
}

/** A body with a length that holds. */
function withBody(attempt: Attempt, body: string, lengths: readonly string[]): Attempt {
  const bare = without(attempt, 'content-length', 'transfer-encoding');
  return {
    ...bare,
    method: bare.method === 'GET' ? 'POST' : bare.method,
    body,
    headers: [...bare.headers, ...lengths.map((length): Field => ['content-length', length])],
  };
}

function inChunks(attempt: Attempt, chunks: string, codings: readonly string[]): Attempt {
  const bare = without(attempt, 'content-length', 'transfer-encoding');
  return {
    ...bare,
    method: bare.method === 'GET' ? 'POST' : bare.method,
    body: chunks,
    headers: [...bare.headers, ...codings.map((coding): Field => ['transfer-encoding', coding])],
  };
}

const hex = (character: string) => character.charCodeAt(0).toString(16).padStart(2, '0');
const CASED = (text: string, random: Random) =>
  Array.from(text, (each) => (random(2) === 0 ? each.toUpperCase() : each.toLowerCase())).join('');

const OF_PROXIES = [
  'x-forwarded-for',
  'x-real-ip',
  'forwarded',
  'true-client-ip',
  'cf-connecting-ip',
  'x-envoy-external-address',
  'x-envoy-internal',
  'x-envoy-original-path',
  'x-original-url',
  'x-rewrite-url',
  'x-forwarded-client-cert',
  'x-forwarded-host',
  'x-request-id',
  'x-envoy-retry-on',
  'x-envoy-hedge-on-per-try-timeout',
  'x-envoy-upstream-rq-timeout-ms',
  'x-envoy-decorator-operation',
  'x-envoy-downstream-service-cluster',
  'x-b3-traceid',
  'grpc-timeout',
];

const ADDRESS_HEADERS = ['x-real-ip', 'forwarded', 'true-client-ip', 'cf-connecting-ip', 'x-envoy-external-address'];
const VALUES = [
  '',
  ' ',
  'invented',
  'INVENTED',
  '0',
  '-1',
  '127.0.0.9',
  'invented, 127.0.0.9',
  '%DOWNSTREAM_REMOTE_ADDRESS%',
  'h\xe9llo \xff',
  '/',
  '*',
];
const SIZES = [500, 4000, 9000, 40_000, 61_000];
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON',
  'application/vnd.llm.v1+json',
  'text/event-stream',
  'text/plain; charset=utf-16',
  'application/json;charset="',
  'application/json, text/plain',
  'application/grpc',
  'multipart/form-data; boundary=x',
];

/** By name, so that a failure can say which ones are needed. */
const MUTATIONS: Readonly<Record<string, Mutation>> = {
  'letter case of the path': inPath(CASED),
  'escaped character': atCharacter((character, random) => `%${pick([hex(character), hex(character).toUpperCase()], random)}`),
  'twice escaped character': atCharacter((character) => `%25${hex(character)}`),
  'overlong escape': atCharacter((character) => `%c1%${(character.charCodeAt(0) | 0x80).toString(16)}`),
  'broken escape': atCharacter((character, random) => `${character}${pick(['%', '%2', '%zz', '%u0070'], random)}`),
  'slashes and dots': beforeSegment(['/', '//', '/.', '/./', '/x/..', '/x/%2e%2e', '/x/.%2E', '/..', '/%2e', '/x//..', '/;/..', '/.;']),
  'escaped slashes': beforeSegment(['%2f', '/%2F', '/x%2f..', '%5c', '\\', '/x\\..', '/%252f', '/x/..%2f', '/x/%2e%2e%5c']),
  'end of the path': afterPath([
    '/',
    '//',
    '/.',
    '/..',
    '/x',
    '%2f',
    '.',
    '%20',
    '%00',
    '%0a',
    '%09',
    '%3f',
    '#',
    '#x',
    '?',
    '??',
    '.json',
    '/x/..',
    '~',
    '%23',
    '*',
    '\\',
  ]),
  'path parameter': inPath((path, random) => {
    const parameters = [';', ';a=b', ';jsessionid=1', '%3ba=b', ';a=b/..', ';/x', ',a', '!a', ':8080'];
    const segments = path.split('/');
    const at = random(segments.length);
    return segments.map((segment, index) => (index === at ? `${segment}${pick(parameters, random)}` : segment)).join('/');
  }),
  'absolute form': (attempt, { random }) => ({
    ...attempt,
    target: `${pick(['http', 'HTTP', 'https', 'ws', 'x'], random)}://${pick(['example.com', 'other.example.com:99', 'a@example.com', ''], random)}${attempt.target}`,
  }),
  'other form of the target': (attempt, { random }) => ({
    ...attempt,
    target: pick(['*', '', attempt.target.slice(1), `?${attempt.target}`, 'example.com:443'], random),
  }),
  'letter case of the method': (attempt, { random }) => ({ ...attempt, method: CASED(attempt.method, random) }),
  'other method': (attempt, { random }) => ({
    ...attempt,
    method: pick(
      ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'CONNECT', 'PROPFIND', 'X', 'get', 'G ET', ''],
      random,
    ),
  }),
  'scheme in a header': withHeaders(({ random }) => [
    [pick(['x-forwarded-proto', 'x-forwarded-scheme', 'X-Scheme'], random), pick(['https', 'HTTPS', 'ws', '', 'x'], random)],
  ]),
  'doubled parameter': inQuery((all, random) => (all.length === 0 ? ['x=1', 'x=2'] : [...all, pick(all, random)])),
  'doubled parameter of another value': inQuery((all, random, names) => {
    const [name = 'x'] = pick([...all, ...names, 'x'], random).split('=');
    const other = `${name}=${pick(['', 'true', 'false', 'mine', '%00', '0'], random)}`;
    return random(2) === 0 ? [...all, other] : [other, ...all];
  }),
  'order of parameters': inQuery((all) => [...all].reverse()),
  'spelling of a parameter': inQuery((all, random) => {
    if (all.length === 0) return ['%78=1', 'X=1'];
    const at = random(all.length);
    const spelt = (text: string) =>
      pick(
        [`%${hex(text[0] ?? 'x')}${text.slice(1)}`, text.toUpperCase(), ` ${text}`, `${text}[]`, text.replace('=', '[]='), `+${text}`],
        random,
      );
    return all.map((each, index) => (index === at ? spelt(each) : each));
  }),
  'long query': inQuery((all, random) => [...all, `long=${'x'.repeat(pick(SIZES, random))}`]),
  'letter case of a header': atHeader(([name, value], { random }) => [[CASED(name, random), value]]),
  'doubled header': atHeader((field) => [field, field]),
  'doubled header of another value': atHeader(([name, value], { random, others }) => {
    const fields: readonly Field[] = [
      [name, value],
      [name, pick([...VALUES, ...others], random)],
    ];
    return random(2) === 0 ? fields : [...fields].reverse();
  }),
  'two values in a header': atHeader(([name, value], { random, others }) => [
    [
      name,
      pick(
        [
          `${value}, ${value}`,
          `${value},`,
          `,${value}`,
          `${value}; x`,
          `x ${value}`,
          `${value} x`,
          `${pick(others, random)}, ${value}`,
          `${value}, ${pick(others, random)}`,
        ],
        random,
      ),
    ],
  ]),
  'order of headers': (attempt) => ({ ...attempt, headers: [...attempt.headers].reverse() }),
  'white space in a header': atHeader(([name, value], { random }) => [
    pick<Field>(
      [
        [name, `\t ${value} \t`],
        [`${name} `, value],
        [name, `\r\n ${value}`],
        [` ${name}`, value],
        [name, value.replace(' ', '  ')],
        [name, value.replace(' ', '\t')],
      ],
      random,
    ),
  ]),
  'bare line ends in a header': atHeader(([name, value], { random }) => [
    [name, pick([`${value}\r`, `${value}\n`, `a\rx-a: b${value}`, `${value}\nx-a: b`, `${value}\0`, `\r${value}`, `${value}\r\r`], random)],
  ]),
  'spelling of a header': atHeader(([name, value], { random }) => [
    [pick([name.replaceAll('-', '_'), `${name}\0`, `"${name}"`, `${name}:`, `x-${name}`], random), value],
  ]),
  'dropped header': atHeader(() => []),
  'empty header': atHeader(([name], { random }) => [[name, pick(['', ' ', ','], random)]]),
  'long header': atHeader(([name, value], { random }) => [[name, `${value}${'x'.repeat(pick(SIZES, random))}`]]),
  'long invented header': withHeaders(({ random }) => [['x-long', 'x'.repeat(pick(SIZES, random))]]),
  'many headers': withHeaders(({ random }) => Array.from({ length: pick([20, 80, 120], random) }, (_, n): Field => [`x-many-${n}`, 'x'])),
  'header that the configuration uses': withHeaders(({ random, names, others }) => {
    const name = pick(names.length === 0 ? OF_PROXIES : names, random);
    const value = pick([...VALUES, ...others], random);
    return pick<readonly Field[]>(
      [
        [[name, value]],
        [[name.toUpperCase(), value]],
        [
          [name, value],
          [name, 'second'],
        ],
        [[name.replaceAll('-', '_'), value]],
      ],
      random,
    );
  }),
  'header of proxies': withHeaders(({ random, others }) => {
    const name = pick(OF_PROXIES, random);
    return Array.from({ length: pick([1, 1, 2, 30], random) }, (): Field => [
      name,
      pick([...VALUES, ...others, 'for=127.0.0.9', '5xx,connect-failure', '1'], random),
    ]);
  }),
  'invented address': withHeaders(({ random, others }) => {
    const name = pick(['x-forwarded-for', 'x-forwarded-for', 'X-Forwarded-For', ...ADDRESS_HEADERS], random);
    const address = () =>
      pick([...others, '127.0.0.9', '203.0.113.9', '127.0.0.9:80', '::ffff:127.0.0.9', '2001:db8::9', '[2001:db8::9]:80'], random);
    return [[name, Array.from({ length: pick([1, 1, 2, 200], random) }, address).join(', ')]];
  }),
  host: (attempt, { random }) => {
    const bare = without(attempt, 'host');
    const [, host = ''] = attempt.headers.find(([name]) => name.toLowerCase() === 'host') ?? [];
    const hosts = [`${host}:8443`, `${host}.`, CASED(host, random), '', 'other.example.com', `${host}@x`, `${host}:`, '[::1]', `${host}/x`];
    return {
      ...bare,
      headers: [...bare.headers, ...Array.from({ length: pick([1, 1, 2], random) }, (): Field => ['host', pick(hosts, random)])],
    };
  },
  'named in Connection': withHeaders(({ random, names }) => [
    [
      'connection',
      pick(
        [
          `close, ${pick([...names, 'authorization', 'x-forwarded-for', 'host'], random)}`,
          'upgrade',
          'keep-alive',
          'close, x-api-key, authorization',
          'te',
        ],
        random,
      ),
    ],
  ]),
  upgrade: withHeaders(({ random }) =>
    pick<readonly Field[]>(
      [
        [
          ['connection', 'upgrade'],
          ['upgrade', 'websocket'],
          ['sec-websocket-key', 'AAAAAAAAAAAAAAAAAAAAAA=='],
          ['sec-websocket-version', '13'],
        ],
        [
          ['connection', 'upgrade, http2-settings'],
          ['upgrade', 'h2c'],
          ['http2-settings', 'AAMAAABkAAQAAP__'],
        ],
        [['expect', '100-continue']],
        [
          ['expect', '100-continue'],
          ['expect', 'x'],
        ],
        [['te', 'trailers, deflate']],
        [['x-http-method-override', 'OPTIONS']],
        [['range', 'bytes=0-0,0-0']],
      ],
      random,
    ),
  ),
  'accepted encoding': withHeaders(({ random }) => [
    ['accept-encoding', pick(['gzip', 'gzip;q=1.0, *;q=0', 'br', 'GZIP', 'deflate, gzip', 'x-gzip', '*'], random)],
  ]),
  'content type': (attempt, { random }) => {
    const bare = random(3) === 0 ? attempt : without(attempt, 'content-type');
    return { ...bare, headers: [...bare.headers, ['content-type', pick(TYPES, random)]] };
  },
  'type of the answer': withHeaders(({ random }) => [['x-answer', String(random(12))]]),
  'other body': (attempt, { random }) => {
    const body = pick(
      [
        '{"model":"a","model":"b"}',
        '{"model":null}',
        '{"model":1e999}',
        '{"model":"a"}x',
        '[',
        'x'.repeat(12_000),
        '',
        '{"model":"\\ud800"}',
        '\xef\xbb\xbf{"model":"a"}',
      ],
      random,
    );
    return withBody(attempt, body, [String(body.length)]);
  },
  'length twice': (attempt, { random }) =>
    withBody(attempt, 'abc', pick([['3', '3'], ['3', '0'], ['0', '3'], ['3, 3'], ['3', '03']], random)),
  'odd length': (attempt, { random }) =>
    withBody(attempt, 'abc', [
      pick(
        [
          '+3',
          '0x3',
          '-3',
          ' 3',
          '3 ',
          '3;',
          '00003',
          '3.0',
          '',
          '4',
          '2',
          '0',
          '9223372036854775808',
          '18446744073709551615',
          '99999999999999999999999',
        ],
        random,
      ),
    ]),
  chunks: (attempt, { random }) => {
    const chunks = pick(
      [
        '3\r\nabc\r\n0\r\n\r\n',
        '1\r\na\r\n1\r\nb\r\n0\r\n\r\n',
        '0003;x=y\r\nabc\r\n0;z\r\n\r\n',
        '3\nabc\n0\n\n',
        '3 \r\nabc\r\n0\r\n\r\n',
        '-3\r\nabc\r\n0\r\n\r\n',
        '0x3\r\nabc\r\n0\r\n\r\n',
        'ffffffffffffffff\r\nabc',
        '0\r\n\r\n',
        '3\r\nabcd\r\n0\r\n\r\n',
        '5\r\nabc',
      ],
      random,
    );
    return inChunks(
      attempt,
      chunks,
      pick(
        [
          ['chunked'],
          ['Chunked'],
          [' chunked'],
          ['\tchunked'],
          ['gzip, chunked'],
          ['chunked', 'chunked'],
          ['identity'],
          ['xchunked'],
          ['chunked, identity'],
        ],
        random,
      ),
    );
  },
  'length and chunks': (attempt, { random }) => {
    const both = inChunks(attempt, '3\r\nabc\r\n0\r\n\r\n', ['chunked']);
    return { ...both, headers: random(2) === 0 ? [...both.headers, ['content-length', '3']] : [['content-length', '13'], ...both.headers] };
  },
  'request in a body': (attempt, { random }) => {
    const inner = `${attempt.method} ${attempt.target} HTTP/1.1\r\nhost: example.com\r\n\r\n`;
    const forms = [
      () => withBody(attempt, inner, [String(inner.length)]),
      () => withBody(attempt, inner, ['0']),
      () => inChunks(attempt, `0\r\n\r\n${inner}`, ['chunked']),
      () => ({ ...inChunks(attempt, `0\r\n\r\n${inner}`, ['chunked']), protocol: 'HTTP/1.0' as const }),
      () => ({ ...withBody(attempt, inner, [String(inner.length)]), method: 'GET' }),
    ];
    return pick(forms, random)();
  },
  trailers: (attempt, { random, names }) => ({
    ...inChunks(attempt, '3\r\nabc\r\n0\r\n\r\n', ['chunked']),
    trailers: [[pick([...names, 'x-trailer', 'content-length', 'authorization', 'host'], random), pick(VALUES, random)]],
  }),
  'HTTP/1.0': (attempt) => ({ ...attempt, protocol: 'HTTP/1.0' }),
  'HTTP/2': (attempt, { random }) => ({
    ...attempt,
    protocol: 'HTTP/2',
    copies: pick([1, 1, 2, 5], random),
    headers: attempt.headers.map(([name, value]) => [name.toLowerCase(), value]),
  }),
  'streams that are reset': (attempt, { random }) => ({
    ...attempt,
    protocol: 'HTTP/2',
    copies: pick([2, 6], random),
    resets: true,
    headers: attempt.headers.map(([name, value]) => [name.toLowerCase(), value]),
  }),
  pipelining: (attempt, { random }) => ({ ...attempt, copies: pick([2, 3, 5], random) }),
  'line feeds alone': (attempt) => ({ ...attempt, lineEnd: '\n' }),
  'before the first line': (attempt, { random }) => ({
    ...attempt,
    before: pick(['\r\n', '\r\n\r\n', '\n', ' ', 'PROXY TCP4 127.0.0.9 127.0.0.9 1 2\r\n', 'GET / HTTP/0.9\r\n', '\0'], random),
  }),
  'hangs up in the middle': (attempt, { random }) => ({ ...attempt, hangsUp: { afterPart: (50 + random(50)) / 100 } }),
  'hangs up at the end': (attempt) => ({ ...attempt, hangsUp: { afterPart: 1 } }),
  'hangs up before the answer': (attempt) => ({ ...attempt, hangsUp: 'unanswered', headers: [...attempt.headers, ['x-held', '1']] }),
  'answer before the body': withHeaders(() => [['x-early', '1']]),
};

export const MUTATION_NAMES: readonly string[] = Object.keys(MUTATIONS);

/** A mutation with its own random numbers, so that it stays the same when others are left out. */
export interface Chosen {
  readonly name: string;
  readonly seed: number;
}

const MOST = 4;

export function chooseMutations(random: Random): readonly Chosen[] {
  return Array.from({ length: 1 + random(MOST) }, () => ({ name: pick(MUTATION_NAMES, random), seed: random(2 ** 31) }));
}

export function mutated(attempt: Attempt, chosen: readonly Chosen[], means: Omit<Means, 'random'>): Attempt {
  return chosen.reduce((changed, { name, seed }) => MUTATIONS[name]!(changed, { ...means, random: randomFrom({ seed }) }), attempt);
}
