/** Gets tokens of Microsoft Entra ID for Azure Cache for Redis and Azure Managed Redis, with Microsoft's library. */

import { readFile } from 'node:fs/promises';
import { ConfidentialClientApplication, ManagedIdentityApplication, type AuthenticationResult } from '@azure/msal-node';
import type { MintToken } from './keep-authenticated';

export interface EntraIdOptions {
  /** Longest time until an open connection gets another token, in milliseconds. */
  readonly renewMs: number;
}

const RESOURCE = 'https://redis.azure.com';
const AUTHORITY = 'https://login.microsoftonline.com';

/** An open connection gets another token when this part of what was left of its own is over, so that there is time for further tries. */
const RENEWED_AFTER = 0.75;

/** Within this part of its life a token is new: connections that renew one after the other share it. */
const NEW_FOR = 0.25;

/** A clock that is wrong, or an identity that gives tokens at their end, causes no more requests than this allows. */
const RENEWAL_MS_MIN = 1_000;

interface KeptToken {
  readonly text: string;
  readonly userId: string;
  readonly receivedMs: number;
  readonly endMs: number;
}

/** `force`: not one that the library keeps. */
type Acquire = (options: { readonly force: boolean }) => Promise<AuthenticationResult | null>;

export function openEntraId({ renewMs }: EntraIdOptions): MintToken {
  const acquire = chooseFlow(process.env);
  let last: KeptToken | undefined;
  let pending: Promise<KeptToken> | undefined;
  const ask = (force: boolean) =>
    (pending ??= acquire({ force })
      .then(readToken)
      .finally(() => {
        pending = undefined;
      }));
  return async ({ isRenewal }) => {
    if (last === undefined || !isRenewal || !isNew(last)) last = await ask(isRenewal);
    const { userId, text, endMs } = last;
    return {
      username: userId,
      password: text,
      renewAfterMs: Math.max(RENEWAL_MS_MIN, Math.min(renewMs, (endMs - Date.now()) * RENEWED_AFTER)),
    };
  };
}

function isNew({ receivedMs, endMs }: KeptToken): boolean {
  return Date.now() - receivedMs < (endMs - receivedMs) * NEW_FOR;
}

/** The order and the variables of Azure's SDKs: a secret, the workload identity of a pod, the managed identity of the machine. */
function chooseFlow(env: NodeJS.ProcessEnv): Acquire {
  const read = (name: string) => (env[name] === '' ? undefined : env[name]);
  const [tenant, clientId, given] = [read('AZURE_TENANT_ID'), read('AZURE_CLIENT_ID'), read('AZURE_AUTHORITY_HOST')];
  const [clientSecret, file] = [read('AZURE_CLIENT_SECRET'), read('AZURE_FEDERATED_TOKEN_FILE')];
  // The file of a pod is replaced before its token ends.
  const fromFile = file === undefined ? undefined : { clientAssertion: () => readFile(file, 'utf8') };
  const proof = clientSecret === undefined ? fromFile : { clientSecret };
  if (tenant !== undefined && clientId !== undefined && proof !== undefined) {
    const host = (given ?? AUTHORITY).replace(/\/+$/, '');
    const known = given === undefined ? {} : { knownAuthorities: [new URL(host).host] };
    const client = new ConfidentialClientApplication({ auth: { clientId, authority: `${host}/${tenant}`, ...known, ...proof } });
    return ({ force }) => client.acquireTokenByClientCredential({ scopes: [`${RESOURCE}/.default`], skipCache: force });
  }
  const client = new ManagedIdentityApplication(
    clientId === undefined ? {} : { managedIdentityIdParams: { userAssignedClientId: clientId } },
  );
  return ({ force }) => client.acquireToken({ resource: RESOURCE, forceRefresh: force });
}

function readToken(result: AuthenticationResult | null): KeptToken {
  const text = result?.accessToken;
  if (text === undefined || text === '') throw new Error('an answer without a token');
  const endMs = result?.expiresOn?.getTime();
  if (endMs === undefined) throw new Error('a token without an end');
  return { text, userId: readObjectId(text), receivedMs: Date.now(), endMs };
}

/** The object id of the identity is its user in Redis. */
function readObjectId(token: string): string {
  const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { readonly oid?: unknown };
  if (typeof payload.oid !== 'string' || payload.oid === '') throw new Error('a token without the object id of its identity (oid)');
  return payload.oid;
}
