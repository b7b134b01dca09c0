// Builds a Go program into .cache/, where go is on PATH; nothing outside of it and of Go's own caches changes.
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isExecutable, run, which } from './process.mjs';

const BUILD_TIMEOUT_S = 600;

/**
 * `args` follow `go`, and leave `program` in the folder that GOBIN names. Resolves to { path }, or to { missing }: why
 * there is none and what to do. `path` is of one version: once there it is not built again.
 */
export async function buildGo({ name, path, program, args }) {
  if (isExecutable(path)) return { path };
  const go = which('go');
  if (go === undefined) return { missing: `${name} is built with Go, and go is not on PATH. Install Go (go.dev, or Debian and Ubuntu: \`apt-get install golang\` as root), then run the command again.` };
  console.log(`Building ${name} (go, into .cache/) …`);
  mkdirSync(dirname(path), { recursive: true });
  // Into a folder of its own first: a half-finished build is never taken for a program.
  const unfinished = mkdtempSync(join(dirname(path), 'unfinished-'));
  try {
    const { code, timedOut, output } = await run(go, args(unfinished), { timeoutS: BUILD_TIMEOUT_S, env: { GOBIN: unfinished, GOFLAGS: '-buildvcs=false -trimpath' }, output: 'pipe' });
    if (code !== 0) {
      console.error(output);
      const why = timedOut ? `go did not end within ${BUILD_TIMEOUT_S} s` : `go failed with exit code ${code}`;
      return { missing: `${name} could not be built: ${why}; its output above says why. Check that Go is new enough and that Go's module proxy can be reached, then run the command again.` };
    }
    renameSync(join(unfinished, program), path);
    return { path };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
