/** Credentials for Redis: `password` or `user:password`, from a variable or from a file that may change, or tokens for the identity of this process. */

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Settings } from '../table/settings';
import { SettingsError } from '../table/settings-error';

export interface RedisAuth {
  readonly username?: string;
  readonly password: string;
}

/** Split at the first colon, as the reference does. */
export function parseRedisAuth(auth: string): RedisAuth {
  const colon = auth.indexOf(':');
  return colon < 0 ? { password: auth } : { username: auth.slice(0, colon), password: auth.slice(colon + 1) };
}

/** REDIS_AUTH_FILE, read again for every connection, so that a new password needs no restart. */
export class RedisAuthFile {
  private known: RedisAuth;
  private problem: string | undefined;

  /** Throws SettingsError if the file is unreadable: the start has no earlier password to use. */
  constructor(private readonly path: string) {
    try {
      this.known = parseFile(readFileSync(path, 'utf8'));
    } catch (error) {
      const message = `${path} ${describeFault(error)}; name a file that holds a password, or user:password`;
      throw new SettingsError([{ name: 'REDIS_AUTH_FILE', message }]);
    }
  }

  /** The credentials in the file, or the last ones while it is unreadable. Reports each reason to `onProblem` once. */
  async read(onProblem: (sentence: string) => void): Promise<RedisAuth> {
    try {
      this.known = parseFile(await readFile(this.path, 'utf8'));
      this.problem = undefined;
    } catch (error) {
      const problem = `REDIS_AUTH_FILE: ${this.path} ${describeFault(error)}; Weir keeps using the last password that it read.`;
      // Weir reconnects to an unavailable Redis every second.
      if (problem !== this.problem) onProblem(problem);
      this.problem = problem;
    }
    return this.known;
  }
}

/** The file is empty, probably because it is being written. */
class EmptyFile extends Error {}

function parseFile(text: string): RedisAuth {
  const auth = text.replace(/\r?\n$/, '');
  if (auth === '') throw new EmptyFile();
  return parseRedisAuth(auth);
}

function describeFault(error: unknown): string {
  if (error instanceof EmptyFile) return 'is empty';
  return `can't be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`;
}

/** Gives this process tokens that end, in place of a password. */
export type RedisIdentity = AwsIdentity | EntraIdentity;

interface AwsIdentity {
  readonly kind: 'aws';
  readonly cacheName: string;
  readonly userId: string;
  readonly region: string;
  readonly service: Settings['redisAwsIamService'];
  readonly isServerless: boolean;
  readonly renewMs: number;
}

interface EntraIdentity {
  readonly kind: 'entra';
  readonly renewMs: number;
}

export type RedisIdentitySettings = Pick<
  Settings,
  | 'redisAuth'
  | 'redisAuthFile'
  | 'redisAwsIamAuth'
  | 'redisAwsIamCacheName'
  | 'redisAwsIamUserId'
  | 'redisAwsIamServerless'
  | 'redisAwsIamRegion'
  | 'redisAwsIamService'
  | 'redisAzureEntraAuth'
  | 'redisAuthRenewalMs'
  | 'awsRegion'
>;

/** What `npm install` takes, by setting. A test compares the versions with package.json. */
export const IDENTITY_PACKAGES = {
  REDIS_AWS_IAM_AUTH: ['@aws-sdk/credential-provider-node@3', '@smithy/signature-v4@5'],
  REDIS_AZURE_ENTRA_AUTH: ['@azure/msal-node@7'],
} as const;

/** Undefined: the credentials are in the settings. */
export function chooseIdentity(settings: RedisIdentitySettings): RedisIdentity | undefined {
  const { redisAwsIamAuth, redisAzureEntraAuth, redisAuthRenewalMs: renewMs } = settings;
  if (redisAwsIamAuth) {
    checkSource('REDIS_AWS_IAM_AUTH', settings);
    return chooseAws(settings);
  }
  if (!redisAzureEntraAuth) return undefined;
  checkSource('REDIS_AZURE_ENTRA_AUTH', settings);
  return { kind: 'entra', renewMs };
}

function chooseAws(settings: RedisIdentitySettings): AwsIdentity {
  const { redisAwsIamCacheName: cacheName, redisAwsIamUserId: userId, redisAuthRenewalMs: renewMs } = settings;
  const region = settings.redisAwsIamRegion ?? settings.awsRegion;
  if (cacheName === undefined || userId === undefined)
    throw refuse('REDIS_AWS_IAM_AUTH', 'it needs a cache and a user; set REDIS_AWS_IAM_CACHE_NAME and REDIS_AWS_IAM_USER_ID');
  if (region === undefined) throw refuse('REDIS_AWS_IAM_REGION', 'REDIS_AWS_IAM_AUTH is true, and it is not set; set it, or AWS_REGION');
  const { redisAwsIamService: service, redisAwsIamServerless: isServerless } = settings;
  return { kind: 'aws', cacheName, userId, region, service, isServerless, renewMs };
}

/** One source of credentials, whose packages are installed: without them Weir would start and never reach Redis. */
function checkSource(name: keyof typeof IDENTITY_PACKAGES, settings: RedisIdentitySettings): void {
  const { redisAuth, redisAuthFile, redisAwsIamAuth, redisAzureEntraAuth } = settings;
  const others = [redisAuth !== undefined && 'REDIS_AUTH', redisAuthFile !== undefined && 'REDIS_AUTH_FILE'];
  const [other] = [...others, redisAwsIamAuth && redisAzureEntraAuth && 'REDIS_AZURE_ENTRA_AUTH'].filter((each) => each !== false);
  if (other !== undefined) throw refuse(name, `it is true, and ${other} is set too; set one of the two`);
  const packages = IDENTITY_PACKAGES[name];
  const missing = packages.filter((each) => !isInstalled(each.slice(0, each.lastIndexOf('@'))));
  if (missing.length > 0) throw refuse(name, `it needs packages that are not installed; run npm install ${missing.join(' ')}`);
}

function isInstalled(packageName: string): boolean {
  try {
    require.resolve(packageName);
    return true;
  } catch {
    return false;
  }
}

function refuse(name: string, message: string): SettingsError {
  return new SettingsError([{ name, message }]);
}
