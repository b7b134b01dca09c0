/** A cluster that has every Secret and ConfigMap which the features of the chart name: pods of manifests are mounted in it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { makeCertificates } from '../servers/certificates';
import type { Rendered } from './helm';
import { mountPod, type Data, type MountedPod } from './mounted-pod';
import { podOf } from './pods';

export const LIMITS = 'domain: shop\ndescriptors:\n- key: user\n  rate_limit: {unit: minute, requests_per_unit: 5}\n';
export const PASSWORD = 'correct horse';
export const TOKEN = 'a-token-of-the-test-that-nobody-else-has';

/** One Secret with everything, for values that name it everywhere. */
const SECRET = secretOfAll();

function secretOfAll(): Data {
  const { ca, server } = makeCertificates();
  return {
    'ca.crt': readFileSync(ca.cert, 'utf8'),
    'tls.crt': readFileSync(server.cert, 'utf8'),
    'tls.key': readFileSync(server.key, 'utf8'),
    url: 'redis.example:6380',
    password: PASSWORD,
    sentinel: PASSWORD,
    headers: 'x=y',
    tokens: `test admin ${createHash('sha256').update(TOKEN).digest('hex')}\n`,
    'jwks.json':
      '{"keys": [{"kty": "EC", "crv": "P-256", "kid": "k", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}',
  };
}

/** The pod with that container; `missing` are objects that the cluster does not have yet. */
export function mountedOf(objects: readonly Rendered[], container: string, missing: readonly string[] = []): MountedPod {
  const present = (all: Readonly<Record<string, Data>>): Readonly<Record<string, Data>> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !missing.includes(name)));
  return mountPod(podOf(objects, container), {
    objects,
    secrets: present({ 'a-secret': SECRET }),
    configMaps: present({ limits: { 'shop.yaml': LIMITS }, roots: {}, otel: {} }),
  });
}
