package app_test

import (
	"github.com/prosecutor-bot/prosecutor/app/store"
	"github.com/prosecutor-bot/prosecutor/convergence"
	"github.com/prosecutor-bot/prosecutor/test/githubtest"
)

func ledgerKey(repo *githubtest.Repo, pr int) convergence.Key { return store.LedgerKey(repo.ID(), pr) }
