/** The files of the console: read once, sent compressed, with the headers that keep its pages from anything else. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** The compressed forms beside a file, the smallest first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

/** Nothing inline, and nothing from other hosts. */
const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** The names of all other files have a hash of their content. */
const INDEX = 'index.html';

interface ConsoleFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly encoded: Readonly<Partial<Record<(typeof ENCODINGS)[number][0], Buffer>>>;
}

export class ConsoleFiles {
  private constructor(private readonly files: ReadonlyMap<string, ConsoleFile>) {}

  /** Undefined: the folder is not there, because the console was not built. */
  static read(folder: string): ConsoleFiles | undefined {
    const names = namesIn(folder);
    if (!names.includes(INDEX)) return undefined;
    const files = new Map<string, ConsoleFile>();
    for (const name of names) {
      const type = TYPES[path.extname(name)];
      if (type === undefined) continue;
      const read = (ending: string) =>
        names.includes(`${name}${ending}`) ? readFileSync(path.join(folder, `${name}${ending}`)) : undefined;
      const encoded = Object.fromEntries(ENCODINGS.map(([encoding, ending]) => [encoding, read(ending)]));
      files.set(name, { type, plain: readFileSync(path.join(folder, name)), encoded });
    }
    return new ConsoleFiles(files);
  }

  /** The paths of the files; `/` is the page. */
  get paths(): readonly string[] {
    return Array.from(this.files.keys(), (name) => (name === INDEX ? '/' : `/${name}`));
  }

  send(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    const [asked = '/'] = request.url.split('?');
    const name = asked === '/' ? INDEX : asked.slice(1);
    const file = this.files.get(name);
    if (file === undefined) throw new Error(`the console has no file ${name}`);
    const accepted = acceptedBy(request);
    const [encoding] = ENCODINGS.find(([each]) => accepted.has(each) && file.encoded[each] !== undefined) ?? [];
    void reply
      .headers(PAGE_HEADERS)
      .header('vary', 'accept-encoding')
      .header('cache-control', name === INDEX ? 'no-cache' : 'public, max-age=31536000, immutable');
    if (encoding !== undefined) void reply.header('content-encoding', encoding);
    return reply.type(file.type).send((encoding && file.encoded[encoding]) ?? file.plain);
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function acceptedBy({ headers }: FastifyRequest): ReadonlySet<string> {
  const { 'accept-encoding': accepted = '' } = headers;
  const text = Array.isArray(accepted) ? accepted.join(',') : accepted;
  return new Set(
    text
      .split(',')
      .map((each) => each.trim().split(/\s*;\s*/))
      .filter(([, quality = '']) => !/^q=0(?:\.0*)?$/.test(quality))
      .map(([name = '']) => name),
  );
}
