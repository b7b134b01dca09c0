/** Reads REDIS_URL in its forms: a URL, a host and port, the path of a unix socket, a master and its sentinels, or nodes of a cluster. */

import { SettingsError } from '../table/settings-error';

/** Address and credentials of one Redis server. */
export interface RedisServer {
  readonly socket: HostPort | { readonly path: string };
  /** Whether the URL is rediss://. */
  readonly tls: boolean;
  readonly database: number;
  readonly username?: string;
  readonly password?: string;
}

export interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** A primary, found through the sentinels that watch it. */
export interface SentinelGroup {
  readonly masterName: string;
  readonly sentinels: readonly HostPort[];
}

const REDIS_PORT_DEFAULT = 6379;

const SENTINELS_MAX = 16;
const SEEDS_MAX = 100;

/** The characters that Redis allows in the name of a master. */
const MASTER_NAME = /^[\w.-]+$/;

/** A host, or an IPv6 address in brackets, and a port. */
const HOST_PORT = /^(?:\[([^\]]+)\]|([^:/[\]]+)):(\d{1,5})$/;

/** Throws SettingsError without the value, which may hold a password. */
export function parseRedisUrl(value: string, socketType: 'unix' | 'tcp'): RedisServer {
  if (/^rediss?:\/\//i.test(value)) return parseUrl(value);
  if (value.includes(',')) {
    throw refuse('it names several servers, but REDIS_TYPE is single; name one, or set REDIS_TYPE=cluster or sentinel');
  }
  const hostPort = parseHostPort(value);
  if (socketType === 'tcp') {
    if (hostPort === undefined) throw refuse('it is not host:port, which REDIS_SOCKET_TYPE=tcp requires; write it as host:6379');
    return { socket: hostPort, tls: false, database: 0 };
  }
  // REDIS_SOCKET_TYPE is unix by default, but a socket path never looks like host:port.
  if (hostPort !== undefined) return { socket: hostPort, tls: false, database: 0 };
  if (value.includes('://')) throw refuse('it is not a Redis URL; start it with redis:// or rediss://');
  if (!value.includes('/') && !value.endsWith('.sock')) {
    throw refuse('it is neither host:port nor a path; add the port, as in host:6379, or name the socket by a path that begins with /');
  }
  return { socket: { path: value }, tls: false, database: 0 };
}

/** The reference's form: the name of the master, then host:port of each sentinel. Throws SettingsError without the value. */
export function parseSentinelUrl(value: string): SentinelGroup {
  const [masterName = '', ...places] = value.split(',').map((part) => part.trim());
  const sentinels = places.map(parseHostPort);
  if (!MASTER_NAME.test(masterName)) throw refuseSentinels("does not begin with the master's name");
  if (sentinels.length === 0) throw refuseSentinels('names no sentinel');
  if (sentinels.length > SENTINELS_MAX) throw refuseSentinels(`names more than ${SENTINELS_MAX} sentinels`);
  if (!sentinels.every((each) => each !== undefined)) {
    throw refuseSentinels(`names a sentinel (number ${sentinels.indexOf(undefined) + 1}) that is not host:port`);
  }
  return { masterName, sentinels };
}

function refuseSentinels(fault: string): SettingsError {
  return refuse(`REDIS_TYPE is sentinel, and it ${fault}; write it as NAME,host1:26379,host2:26379`);
}

/** The reference's form: host:port of a few nodes, which name the others. Throws SettingsError without the value. */
export function parseClusterUrl(value: string): readonly HostPort[] {
  const seeds = value.split(',').map((part) => parseHostPort(part.trim()));
  if (seeds.length > SEEDS_MAX) throw refuseSeeds(`names more than ${SEEDS_MAX} nodes`);
  const valid = seeds.filter((seed) => seed !== undefined);
  if (valid.length === seeds.length) return valid;
  throw refuseSeeds(`names a node (number ${seeds.indexOf(undefined) + 1}) that is not host:port`);
}

function refuseSeeds(fault: string): SettingsError {
  return refuse(`REDIS_TYPE is cluster, and it ${fault}; write it as host1:6379,host2:6379`);
}

function parseHostPort(value: string): HostPort | undefined {
  const [, address, name, digits] = HOST_PORT.exec(value) ?? [];
  const host = address ?? name;
  const port = Number(digits);
  return host === undefined || !(port >= 1 && port <= 65_535) ? undefined : { host, port };
}

function parseUrl(value: string): RedisServer {
  const server = readUrl(value);
  if (server === undefined) throw refuse('it is not a valid URL; write it as redis://user:password@host:6379/0');
  return server;
}

function readUrl(value: string): RedisServer | undefined {
  if (!URL.canParse(value)) return undefined;
  const url = new URL(value);
  const host = decode(url.hostname)?.replace(/^\[|\]$/g, '');
  const username = decode(url.username);
  const password = decode(url.password);
  const database = readDatabase(url.pathname);
  if (!host || username === undefined || password === undefined || database === undefined) return undefined;
  return {
    socket: { host, port: url.port === '' ? REDIS_PORT_DEFAULT : Number(url.port) },
    tls: url.protocol === 'rediss:',
    database,
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
  };
}

/** Undefined if a `%` in it does not start an escape. */
function decode(escaped: string): string | undefined {
  try {
    return decodeURIComponent(escaped);
  } catch {
    return undefined;
  }
}

/** 0 if the path names none. */
function readDatabase(pathname: string): number | undefined {
  const digits = /^\/?(\d{0,5})$/.exec(pathname)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function refuse(message: string): SettingsError {
  return new SettingsError([{ name: 'REDIS_URL', message }]);
}
