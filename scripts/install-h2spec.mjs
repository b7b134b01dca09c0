// Puts h2spec, which holds an HTTP/2 server against the RFCs, into .cache/h2spec/; it is built with Go.
import { join } from 'node:path';
import { buildGo } from './build-go.mjs';
import { ROOT, exitMissing, isMain } from './process.mjs';

const H2SPEC_VERSION = 'v2.2.1+incompatible';

/** Resolves to { path }, or to { missing }: why there is none and what to do. */
export function installH2spec() {
  return buildGo({
    name: `h2spec ${H2SPEC_VERSION}`,
    path: join(ROOT, '.cache', 'h2spec', H2SPEC_VERSION),
    program: 'h2spec',
    args: () => ['install', `github.com/summerwind/h2spec/cmd/h2spec@${H2SPEC_VERSION}`],
  });
}

if (isMain(import.meta.url)) {
  const { path, missing } = await installH2spec();
  if (missing !== undefined) exitMissing(missing);
  console.log(path);
}
