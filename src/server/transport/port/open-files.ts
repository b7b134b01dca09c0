/** Divides the limit on open files among the ports, and reserves some files for Redis and health checks. */

import { close, open, readFileSync } from 'node:fs';

/** Maximum of connections for each port. */
export interface ConnectionLimits {
  readonly grpc: number;
  readonly http: number;
  /** For the debug port and the port of PROMETHEUS_ADDR, each. */
  readonly debug: number;
}

export interface LimitedConnections extends ConnectionLimits {
  /** The limit on open files at which no maximum is reduced. */
  readonly filesWanted: number;
  readonly isLowered: boolean;
}

/** Files that are not client connections: Redis, configuration, logs, and those of Node. */
const OTHER_FILES_MIN = 48;
const OTHER_FILES_MAX = 512;

/** Shares of the remaining files, in sixteenths: gRPC, HTTP, and two more ports. */
const SHARES = { all: 16, grpc: 12, http: 2, debug: 1 } as const;

/** Interval between two checks whether a file can be opened, in milliseconds. */
const LOOK_MS = 5_000;

/** `filesMax` is undefined if the limit is unknown or absent. */
export function limitConnections(meant: ConnectionLimits, filesMax = Infinity): LimitedConnections {
  const filesWanted = meant.grpc + meant.http + 2 * meant.debug + OTHER_FILES_MAX;
  if (filesMax >= filesWanted) return { ...meant, filesWanted, isLowered: false };
  const others = Math.min(OTHER_FILES_MAX, Math.max(OTHER_FILES_MIN, Math.floor(filesMax / 8)));
  const left = Math.max(0, filesMax - others);
  const shareOf = (of: keyof ConnectionLimits): number => Math.min(meant[of], Math.max(1, Math.floor((left * SHARES[of]) / SHARES.all)));
  return { grpc: shareOf('grpc'), http: shareOf('http'), debug: shareOf('debug'), filesWanted, isLowered: true };
}

/** The limit of this process, which Node has already raised as far as possible; undefined where the system does not show it. */
export function readFilesMax(): number | undefined {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/**
 * Checks periodically whether this process can open a file: at its limit the system closes new connections without telling the process.
 * Returns a function that ends the checks.
 */
export function watchOpenFiles(onLimit: (error: NodeJS.ErrnoException) => void, lookMs = LOOK_MS): () => void {
  const timer = setInterval(() => {
    open('/dev/null', 'r', (error, file) => {
      if (error === null) close(file);
      else if (error.code === 'EMFILE' || error.code === 'ENFILE') onLimit(error);
    });
  }, lookMs).unref();
  return () => {
    clearInterval(timer);
  };
}
