/** The session of the browser: who is signed in, and what the role allows. */

import { computed, signal } from '@preact/signals';
import type { Role, Session } from '../../admin-client/operations';
import { call, csrf, onRefusal } from './client';
import { ApiError, messageOf } from './problem';

export type SessionState =
  | { readonly kind: 'asking' }
  | { readonly kind: 'signed-out'; readonly note?: string }
  | { readonly kind: 'away' }
  | { readonly kind: 'signed-in'; readonly name: string; readonly role: Role; readonly needsSignIn: boolean };

const ORDER: readonly Role[] = ['viewer', 'support', 'admin'];

export const session = signal<SessionState>({ kind: 'asking' });

/** The role may have changed while the console was open. */
export const wasRefused = signal(false);

export const mayChange = computed(() => has('support'));

export const mayAdministrate = computed(() => has('admin'));

function has(needed: Role): boolean {
  const { value } = session;
  return value.kind === 'signed-in' && ORDER.indexOf(value.role) >= ORDER.indexOf(needed);
}

export async function readSession(): Promise<void> {
  try {
    take(await call('getSession', {}));
  } catch (error) {
    if (error instanceof ApiError && error.failure === 'away') {
      if (session.value.kind !== 'signed-in') session.value = { kind: 'away' };
    } else if (error instanceof ApiError && error.failure === 'signed-out') {
      session.value = { kind: 'signed-out' };
    } else {
      session.value = { kind: 'signed-out', note: messageOf(error) };
    }
  }
}

export async function signIn(token: string): Promise<void> {
  take(await call('openSession', {}, { headers: { authorization: `Bearer ${token}` } }));
}

export async function signOut(): Promise<void> {
  await call('endSession', {}).catch(() => undefined);
  csrf.value = undefined;
  session.value = { kind: 'signed-out' };
}

function take({ name, role, needs_sign_in: needsSignIn, csrf: token }: Session): void {
  csrf.value = token;
  session.value = { kind: 'signed-in', name, role, needsSignIn };
}

onRefusal.value = (failure) => {
  if (failure === 'forbidden') {
    wasRefused.value = true;
    void readSession();
  } else if (session.value.kind === 'signed-in') {
    csrf.value = undefined;
    session.value = { kind: 'signed-out', note: 'The session has ended. Sign in again to go on here.' };
  }
};
