// Solana's encodings, as far as the node needs them.

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

export function toBase58(bytes) {
  let n = BigInt('0x0' + Buffer.from(bytes).toString('hex'))
  let text = ''
  for (; n > 0n; n /= 58n) text = alphabet[Number(n % 58n)] + text
  for (const b of bytes) {
    if (b !== 0) break
    text = '1' + text
  }
  return text
}

export function fromBase58(text, size = 32) {
  let n = 0n
  for (const c of text) {
    const digit = alphabet.indexOf(c)
    if (digit < 0) throw new Error('not base58')
    n = n * 58n + BigInt(digit)
  }
  const hex = n.toString(16).padStart(size * 2, '0')
  if (hex.length !== size * 2) throw new Error('not the right size')
  return new Uint8Array(Buffer.from(hex, 'hex'))
}

// readTransaction gives the signatures and the accounts that stand in the message itself.
export function readTransaction(wire) {
  let at = 0
  const length = () => {
    for (let n = 0, shift = 0; ; shift += 7) {
      const b = wire[at++]
      n |= (b & 0x7f) << shift
      if ((b & 0x80) === 0) return n
    }
  }
  const take = (size) => wire.subarray(at, (at += size))
  const list = (size) => Array.from({ length: length() }, () => toBase58(take(size)))
  const signatures = list(64)
  if (wire[at] & 0x80) at++ // the version
  at += 3 // numbers of signers and of read-only accounts
  return { signatures, accounts: list(32), blockhash: toBase58(take(32)) }
}

// tokenBalance reads a token account, or gives null.
export function tokenBalance(data) {
  if (data.length !== 165) return null
  const view = Buffer.from(data)
  return { mint: toBase58(view.subarray(0, 32)), owner: toBase58(view.subarray(32, 64)), amount: view.readBigUInt64LE(64) }
}

export function tokenAccount(mint, owner, amount) {
  const data = Buffer.alloc(165)
  data.set(fromBase58(mint), 0)
  data.set(fromBase58(owner), 32)
  data.writeBigUInt64LE(BigInt(amount), 64)
  data[108] = 1 // initialized
  return new Uint8Array(data)
}

export function mintAccount(decimals) {
  const data = Buffer.alloc(82)
  data.writeBigUInt64LE(10n ** 15n, 36) // supply
  data[44] = decimals
  data[45] = 1 // initialized
  return new Uint8Array(data)
}
