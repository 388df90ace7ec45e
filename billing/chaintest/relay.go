package chaintest

import (
	"context"
	"errors"
	"math/big"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/x402-foundation/x402/go/mechanisms/evm"
)

// relay is what the SDK's facilitator needs of an EVM chain: a wallet that pays for gas, and reading.
type relay struct {
	chain  *Chain
	wallet *Wallet
}

var _ evm.FacilitatorEvmSigner = (*relay)(nil)

func newRelay(c *Chain) *relay {
	r := &relay{chain: c, wallet: NewWallet(c.t)}
	c.Endow(r.wallet)
	return r
}

func (r *relay) GetAddresses() []string { return []string{r.wallet.Address} }

func (r *relay) GetChainID(context.Context) (*big.Int, error) { return r.chain.id, nil }

func (r *relay) GetCode(ctx context.Context, address string) ([]byte, error) {
	return r.chain.client.CodeAt(ctx, common.HexToAddress(address), nil)
}

func (r *relay) GetBalance(ctx context.Context, address, token string) (*big.Int, error) {
	value, err := r.ReadContract(ctx, token, evm.ERC20BalanceOfABI, "balanceOf", common.HexToAddress(address))
	if err != nil {
		return nil, err
	}
	balance, ok := value.(*big.Int)
	if !ok {
		return nil, errors.New("the balance is no number")
	}
	return balance, nil
}

func (r *relay) ReadContract(ctx context.Context, address string, abiJSON []byte, function string, args ...any) (any, error) {
	contract, data, err := packCall(abiJSON, function, args)
	if err != nil {
		return nil, err
	}
	to := common.HexToAddress(address)
	answer, err := r.chain.client.CallContract(ctx, ethereum.CallMsg{From: r.wallet.owner, To: &to, Data: data}, nil)
	if err != nil {
		return nil, err
	}
	values, err := contract.Unpack(function, answer)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	return values[0], nil
}

func packCall(abiJSON []byte, function string, args []any) (abi.ABI, []byte, error) {
	contract, err := abi.JSON(strings.NewReader(string(abiJSON)))
	if err != nil {
		return abi.ABI{}, nil, err
	}
	data, err := contract.Pack(function, args...)
	return contract, data, err
}

func (r *relay) VerifyTypedData(_ context.Context, address string, domain evm.TypedDataDomain, types map[string][]evm.TypedDataField, primaryType string, message map[string]any, signature []byte) (bool, error) {
	hash, err := evm.HashTypedData(domain, types, primaryType, message)
	if err != nil {
		return false, err
	}
	return evm.VerifyEOASignature(hash, signature, common.HexToAddress(address))
}

func (r *relay) WriteContract(ctx context.Context, address string, abiJSON []byte, function string, args ...any) (string, error) {
	_, data, err := packCall(abiJSON, function, args)
	if err != nil {
		return "", err
	}
	return r.SendTransaction(ctx, address, data)
}

func (r *relay) SendTransaction(ctx context.Context, to string, data []byte) (string, error) {
	hash, err := r.chain.send(ctx, r.wallet, common.HexToAddress(to), data)
	if err != nil {
		return "", err
	}
	return hash.Hex(), nil
}

func (r *relay) WaitForTransactionReceipt(ctx context.Context, hash string) (*evm.TransactionReceipt, error) {
	receipt, err := r.chain.receipt(ctx, common.HexToHash(hash))
	if err != nil {
		return nil, err
	}
	return &evm.TransactionReceipt{Status: receipt.Status, BlockNumber: receipt.BlockNumber.Uint64(), TxHash: hash}, nil
}
